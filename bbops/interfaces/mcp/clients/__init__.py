"""Programs that coding agents run in: one file for each, with where it looks for servers."""
