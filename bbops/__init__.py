"""bbops: a backend written as YAML files in git, checked and compiled without a server."""

__version__ = "0.1.0"
