SSELECT 1 AS a \; SELECT 2 AS b \gset p_
SELECT :p_a, :p_b;