S-- c
/* /* */ */ SELECT 1