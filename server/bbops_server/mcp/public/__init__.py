"""The tools of the public MCP server: one file each, found by name."""
