"""OAuth, consent pages and MCP endpoints for agents."""
