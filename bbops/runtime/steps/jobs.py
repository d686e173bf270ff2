"""What compiled code calls for the steps `enqueue`, `cancel` and `jobStatus`."""

from __future__ import annotations

from typing import Any

from bbops.runtime.flow.run import Function, given_to
from bbops.runtime.steps.events import MAX_PAYLOAD
from bbops.runtime.values.failures import BadValue
from bbops.runtime.values.operators import kind
from bbops.runtime.values.values import check_size
from bbops.runtime.work.jobs import JOB_PREFIX, is_of_function


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
