"""Say all that is known of a job."""

from __future__ import annotations

from bbops.base.json_jobs import JobStory
from bbops_server.process.messages.request import Answer, Request


class ShownJob(Answer, frozen=True):
    """What is known of a job; None where there is none of the name."""

    story: JobStory | None


class ShowJob(Request[ShownJob], frozen=True):
    """Say all that is known of a job."""

    project: str
    job: str
