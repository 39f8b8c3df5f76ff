S\set x random_zipfian(1,1000000,0.99)
SELECT :x