"""What compiled code calls for the step `send`."""

from __future__ import annotations

from typing import Any

from bbops.runtime.steps.events import MAX_PAYLOAD
from bbops.runtime.values.failures import BadValue
from bbops.runtime.values.values import check_size
from bbops.runtime.work.sent_webhooks import message_id


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
