"""One file for each addon: its steps, and what its vendor's own library asks."""
