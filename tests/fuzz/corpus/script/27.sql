5\set a debug(greatest(1, :x, 2.5)) + least(:y)
