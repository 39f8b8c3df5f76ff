0\gset
