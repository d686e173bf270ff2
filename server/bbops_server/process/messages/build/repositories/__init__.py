"""Questions about repositories."""
