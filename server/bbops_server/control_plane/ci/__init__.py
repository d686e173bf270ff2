"""Tokens for workflows of a CI service, in exchange for their identity tokens."""
