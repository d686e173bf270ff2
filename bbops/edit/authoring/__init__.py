"""Change a project's files for the one who writes them: comments stay, and mistakes are refused."""
