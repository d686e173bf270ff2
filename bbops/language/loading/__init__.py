"""From a tree to a Project, or to diagnostics."""
