"""Clone, fetch and push over HTTP: a push that is refused says why, one that is taken is live."""
