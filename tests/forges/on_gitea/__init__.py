"""Tests of the client of Gitea and Forgejo."""
