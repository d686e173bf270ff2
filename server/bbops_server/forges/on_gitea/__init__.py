"""The operations of Gitea and Forgejo, in parts."""
