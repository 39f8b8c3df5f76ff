S\set x random_gaussian(1,10,2.0)+random_exponential(1,10,5)
SELECT :x::int