"""Sign-in with external providers: OpenID Connect and GitHub."""
