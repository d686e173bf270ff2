"""Tell coding agents where a server is: small changes of their files, and never a token in one."""
