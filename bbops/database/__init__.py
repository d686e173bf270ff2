"""The database: declared tables to a live schema, and thin drivers that run statements."""
