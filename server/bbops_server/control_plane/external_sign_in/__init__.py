"""Sign-in at other places: OpenID Connect providers, and GitHub."""
