"""A checked Project becomes an artifact: code objects, routes, statements. Nothing of YAML is left."""
