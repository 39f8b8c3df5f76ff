1\set a case when :x > 1 then 2 when :y is null then 3 else :z end
SELECT :a, :x