"""A checked Project becomes an artifact: code, routes, statements. Nothing of YAML is left."""
