0\set é 1
SELECT :é