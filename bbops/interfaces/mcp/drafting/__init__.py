"""The work of tools in a repository: git and compilation, without a server."""
