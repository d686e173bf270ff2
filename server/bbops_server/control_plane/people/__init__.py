"""Pages about members and the workspace."""
