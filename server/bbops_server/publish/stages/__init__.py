"""The stages of a publication, and the loop that goes through them."""
