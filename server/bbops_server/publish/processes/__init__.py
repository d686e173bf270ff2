"""The parent's side of the data processes, the work process and drafts."""
