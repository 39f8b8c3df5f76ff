-- c
/* /* */ */ SELECT 1