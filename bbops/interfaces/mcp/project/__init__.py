"""The tools of a project: read, preview, check, commit to a draft, propose, roll back."""
