"""Pages and API of projects."""
