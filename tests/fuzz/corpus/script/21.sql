S\set x greatest(1,least(2,abs(-3)))
SELECT ':x'