"""Database files as a whole: backups, restoring them, statements typed by hand."""
