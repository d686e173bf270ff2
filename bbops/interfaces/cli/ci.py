"""Check, plan and report a change in a job of a CI system."""

from __future__ import annotations

import click

from bbops.interfaces.cli._command_group import CommandGroup
from bbops.interfaces.cli._examples import examples


@examples("bbops ci check", "bbops ci plan --fail-on breaking")
@click.group(cls=CommandGroup)
def command() -> None:
    """Check, plan and report a change in a job of a CI system.

    Works in GitHub Actions, Gitea and Forgejo Actions, GitLab CI/CD, Jenkins and other systems, and
    the same way on your own machine. See docs/ci.md.
    """
