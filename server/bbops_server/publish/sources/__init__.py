"""Where a project comes from, and one revision on its way to being served."""
