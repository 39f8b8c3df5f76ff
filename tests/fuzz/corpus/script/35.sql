SSELECT ':scale', $$:scale$$, ":scale" /* :scale */ -- :scale
, x::int, a[1:2];