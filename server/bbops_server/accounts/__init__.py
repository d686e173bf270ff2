"""People, what they may do, and how they are known: sessions, tokens, identities."""
