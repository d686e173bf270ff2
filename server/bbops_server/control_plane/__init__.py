"""The control plane: pages and API for people, command-line tools and agents."""
