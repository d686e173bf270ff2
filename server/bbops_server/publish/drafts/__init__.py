"""The drafts of a project, made and dropped with their branches."""
