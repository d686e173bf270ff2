"""The tools of a project's MCP server: one file each, found by name."""
