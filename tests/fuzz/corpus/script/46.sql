6\set x :a | :b & :c # :d
\set y :e < :f
\set z :g = :h
