6SELECT :v1, :v2, :v1, :v3, ':v4';
\set v1 :v2 + :v3
