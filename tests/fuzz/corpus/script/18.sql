S\set a pi()*sqrt(2)
SELECT :a, :a