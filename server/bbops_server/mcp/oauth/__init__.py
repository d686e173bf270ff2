"""How agents sign in: OAuth 2.1 for public clients, on the book of accounts; no web framework."""
