"""What coding agents are given over MCP: tools that read, preview and propose, never publish."""
