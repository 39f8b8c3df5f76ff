0\sleep 1.5 ms
\sleep :x us
\sleep 10s
\sleep 1
SELECT 1