"""Pages by which people come in, and their own account."""
