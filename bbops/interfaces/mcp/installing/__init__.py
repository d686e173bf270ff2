"""Add a server to the settings files of MCP clients: small changes, and never a token."""
