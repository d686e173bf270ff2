"""Run what a test is about as a job: a trigger by an event, a task by itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from bbops.compiler.testing.client import Client
from bbops.compiler.testing.comparing import plain
from bbops.compiler.testing.outcome import Answer
from bbops.compiler.testing.requests import read
from bbops.compiler.testing.working import Working
from bbops.language.project import Resource
from bbops.language.resources.trigger import Trigger
from bbops.runtime.http.in_flight import ActiveRequest
from bbops.runtime.work.webhooks import webhook_event


def event_of(trigger: Resource[Trigger], given: Mapping[str, Any]) -> tuple[str, str]:
    """Return the name and the payload of the event that a case gives a trigger."""
    names = trigger.model.event or [webhook_event(trigger.name)]
    return given.get("name") or names[0], json.dumps(plain(given.get("payload")))


async def ask_work(client: Client, working: Working, work: str, *, follows: bool) -> Answer:
    """Run a trigger or a task, and return how its job ended: 204, or as its failure says."""
    if work.startswith("tasks/"):
        await working.begin(work)
    await working.work_off(work, follows=follows)
    last = next((one for one in reversed(working.attempts) if one.job.work == work), None)
    if last is None or last.error is None:
        return Answer(204, {}, None)
    return answer_of_failure(client, last.error, work)


def answer_of_failure(client: Client, error: Exception, work: str) -> Answer:
    """Return the answer of a request that failed as a job has failed."""
    scope: dict[str, Any] = {
        "method": "RUN", "path": work, "headers": [], "bbops": ActiveRequest(),
    }  # fmt: skip
    status, body, headers = client.release.answering.failure(error, scope)
    found = {name.decode(): value.decode("latin-1") for name, value in headers}
    return Answer(status, found, read(body, found))
