"""Replacement of a running server by another one on the same machine, without refused requests."""
