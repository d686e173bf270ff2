"""`server.yaml`: a server's own settings, and the projects it runs."""
