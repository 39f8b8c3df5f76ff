1\sleep :x
\shell echo :x ::y z
\setshell r echo :x | cat
SELECT :r