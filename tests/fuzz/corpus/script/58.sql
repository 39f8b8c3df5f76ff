0\set x true and :a
\set y false or :b
\set z null and 1
