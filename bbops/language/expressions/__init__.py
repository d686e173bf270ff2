"""The expression language: grammar, values in YAML, types, checks, Python."""
