"""The meaning of the YAML files: resources, steps, expressions and the project."""
