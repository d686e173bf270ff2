"""MCP clients, the programs in which coding agents run: one file each, with its settings file."""
