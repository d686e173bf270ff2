"""One server takes the place of another on the same machine, and nobody is refused meanwhile."""
