"""The work of agents in a repository: pure git and compiling, without a server."""
