"""The server: follows a repository and turns its commits into live routes."""
