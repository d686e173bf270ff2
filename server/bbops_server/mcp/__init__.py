"""The server's side of what agents ask over MCP: the way in, and the tools of everybody."""
