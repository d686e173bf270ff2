"""Publishing: the stages from a commit to a live release, and everything that holds them."""
