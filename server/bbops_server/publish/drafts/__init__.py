"""The drafts of a project, created and removed with their branches."""
