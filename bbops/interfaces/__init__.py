"""Ways in: the command line, editors, coding agents, and the client of a server."""
