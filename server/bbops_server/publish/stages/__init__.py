"""The stages of a publication, and the loop that runs them."""
