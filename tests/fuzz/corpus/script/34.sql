S\startpipeline
SELECT 1;
\syncpipeline
SELECT :scale;
\endpipeline
