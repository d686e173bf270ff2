"""Hosted forges: GitHub, Gitea and Forgejo, and GitLab."""
