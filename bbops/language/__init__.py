"""What YAML means: resources, steps, expressions, and the project they make."""
