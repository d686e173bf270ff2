"""The steps that start other work: `emit`, `publish`, `send`, `enqueue`, `cancel`, `jobStatus`."""

from __future__ import annotations

from typing import Any, Final

from bbops.runtime.flow.run import Function, given_to
from bbops.runtime.values.failures import BadValue
from bbops.runtime.values.operators import kind
from bbops.runtime.values.values import check_size
from bbops.runtime.work.jobs import JOB_PREFIX, is_of_function
from bbops.runtime.work.sent_webhooks import message_id

MAX_PAYLOAD: Final = 1_000_000
"""Characters and members of a payload."""


async def emit(host: Any, event: str, payload: Any, origin: str) -> None:
    """Tell the triggers of an event; inside a transaction when it commits."""
    check_size([payload], MAX_PAYLOAD)
    if host.events is not None:
        await host.events.emit(event, payload, origin=origin)


async def publish(host: Any, realtime: str, params: Any, event: str, payload: Any) -> None:
    """Tell who has subscribed to a topic."""
    check_size([params, payload], MAX_PAYLOAD)
    if host.realtime is not None:
        await host.realtime.publish(realtime, params or {}, event, payload)


async def send(host: Any, webhook: str, event: str, owner: Any, payload: Any) -> dict[str, Any]:
    """Send a message to the receivers of a webhook; inside a transaction when it commits.

    In a draft it is written to the log.

    Raises:
        BadValue: its owner is neither text nor a whole number.
    """
    check_size([payload], MAX_PAYLOAD)
    if owner is not None and type(owner) not in {str, int}:
        raise BadValue("'owner' needs a text or a whole number")
    message = message_id(host.random.uuid())
    if host.events is None or not host.sends:
        told = {"webhook": webhook, "event": event, "owner": owner, "payload": payload}
        host.log.write("info", "drafts send no webhooks: this one is only logged", told)
    else:
        given = {"event": event, "owner": owner, "payload": payload}
        await host.events.send(webhook, message, given)
    return {"id": message}


async def enqueue(
    host: Any, function: Function, input: Any, delay: int, unique: Any, origin: str  # noqa: A002 - the step's word
) -> dict[str, Any]:  # fmt: skip
    """Make a job of a function; inside a transaction when it commits.

    Raises:
        BadValue: what it is given does not fit its shapes, or `unique` is no key.
    """
    check_size([input], MAX_PAYLOAD)
    given_to(function, input)
    if unique is not None and type(unique) not in {str, int}:
        raise BadValue(f"'unique' needs a text or a whole number, got {kind(unique)}")
    uid = f"{JOB_PREFIX}{function.name}@{host.random.uuid()}"
    if host.events is None:
        return {"id": uid, "isNew": True}
    found = await host.events.enqueue(
        JOB_PREFIX + function.name, uid, {"input": input}, delay_ms=delay,
        unique=None if unique is None else str(unique), origin=origin,
    )  # fmt: skip
    return {"id": found, "isNew": found == uid}


async def cancel(host: Any, job: Any) -> bool:
    """End a job of `enqueue`; return whether there was one."""
    if host.events is None or not is_of_function(job):
        return False
    return bool(await host.events.cancel(job))


async def job_status(host: Any, job: Any) -> Any:
    """Return how far a job of `enqueue` is; None where there is none."""
    if host.events is None or not is_of_function(job):
        return None
    return await host.events.status(job)
