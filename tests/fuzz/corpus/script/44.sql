0\set x 1e308 * 10
\set y int(:x)
\set z :x - :x
\if :z
\endif