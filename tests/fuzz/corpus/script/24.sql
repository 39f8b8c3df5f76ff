2\set a not :x and :y or :z is not true isnull notnull
