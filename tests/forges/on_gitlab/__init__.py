"""Tests of the client of GitLab."""
