3\set a int(:x) + double(:y) + abs(:z)
\set b ln(:x) + exp(:y) + sqrt(:z) + pow(:x, :y)
