"""The process of one draft."""
