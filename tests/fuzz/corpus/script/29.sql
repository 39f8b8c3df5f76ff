7\if 1
\if 0
\else
\if null
\endif
\endif
\endif
SELECT 1