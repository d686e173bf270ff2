"""From an artifact to a Release that answers requests."""
