"""The source of a project, and the values of a publication from it."""
