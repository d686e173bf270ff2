"""A stateful stand-in for GitHub: its API, its webhooks and its git, on a free port.

Its responses have the shapes of GitHub's OpenAPI description (npm `@octokit/openapi`), which
tests/forges/test_github_description.py compares.
"""
