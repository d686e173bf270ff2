"""PostgreSQL: a project's tables in a schema of their own. Needs the extra `postgres`."""
