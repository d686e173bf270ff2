"""PostgreSQL. Nothing here is imported before a project is served from one."""
