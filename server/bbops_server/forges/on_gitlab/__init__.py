"""The operations of GitLab, in parts."""
