1\shell \setshell ::
