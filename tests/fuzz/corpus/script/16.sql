S\set x int(1e18)*1000
SELECT 1