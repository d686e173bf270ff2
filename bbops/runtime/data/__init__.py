"""Rows on their way into a database and out of it."""
