"""Pages and API of proposals."""
