"""Read YAML without losing where anything stood."""
