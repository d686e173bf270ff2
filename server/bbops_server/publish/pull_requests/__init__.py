"""The pull requests of a hosted repository: their checks, plans, previews and comments."""
