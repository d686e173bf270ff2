"""From a commit to what is live, and what waits on that way."""
