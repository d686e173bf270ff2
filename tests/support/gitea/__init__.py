"""A stateful stand-in for Gitea and Forgejo: API, webhooks and git, on a free port.

It shares facts and git with the stand-in for GitHub. Its responses have the shapes that both forges
describe, which tests/forges/on_gitea/test_gitea_description.py compares.
"""
