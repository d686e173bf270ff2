"""All projects of a server, and what is asked about them."""
