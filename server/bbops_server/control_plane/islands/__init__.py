"""Routes that the scripts of pages read: built files, the search, and the live view."""
