"""Tokens, keys and passwords: made, verified, kept as hashes."""
