"""The parent's side of the data processes and of drafts."""
