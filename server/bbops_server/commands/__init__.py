"""The commands that need the server, found by the CLI through an entry-point group."""
