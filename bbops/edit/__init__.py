"""Changes of a project's files, for people and tools."""
