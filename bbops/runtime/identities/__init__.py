"""Sign-in of a project's users at other services: OpenID Connect providers, and GitHub."""
