"""The outline of a commit: every resource of a project, with its relations, as one value."""
