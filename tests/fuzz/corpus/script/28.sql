6\if :x
SELECT 1;
\elif :y
SELECT 2;
\else
SELECT 3;
\endif
SELECT 4;