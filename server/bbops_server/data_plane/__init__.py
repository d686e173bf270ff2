"""The process that answers a project's requests."""
