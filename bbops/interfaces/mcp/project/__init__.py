"""The tools of one project: read, preview, check, commit to a draft, propose, go back."""
