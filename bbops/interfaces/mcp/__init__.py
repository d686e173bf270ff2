"""The MCP tools for coding agents: they read, preview and propose, and never publish by default."""
