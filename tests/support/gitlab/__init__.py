"""A stateful stand-in for GitLab: API, webhooks and git, on a free port.

It shares facts and git with the stand-in for GitHub. Its responses have the shapes that
`@gitbeaker/core` describes, which tests/forges/on_gitlab/test_gitlab_description.py compares.
"""
