"""How often something may be done, counted over processes."""
