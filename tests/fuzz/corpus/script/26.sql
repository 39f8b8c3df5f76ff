4\set a hash(:x) + hash_fnv1a(:y, 5) + hash_murmur2(:z) + permute(:x, 100)
