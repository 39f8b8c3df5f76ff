0\set x random(1, 9223372036854775807)
\set y random_zipfian(0, :x, 1.0)
\set z random_exponential(-5, :y, 0.001)
\set w random_gaussian(:x, :x, 2)
