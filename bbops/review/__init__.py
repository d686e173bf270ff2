"""What a change does, and to whom."""
