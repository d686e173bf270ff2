"""send: notify the receivers of a webhook of an event."""

from __future__ import annotations

import ast
from typing import ClassVar

from bbops.base.diagnostics import suggest, suggest_resource
from bbops.base.model import Model
from bbops.language.expressions.types import NULL, TEXT, Type, map_of
from bbops.language.expressions.values import ValueField
from bbops.language.steps._base import Checking, Example, Static, Step, mark_of
from bbops.language.steps._flow import Flow
from bbops.language.steps._mismatches import check_payload, refuse_unknown
from bbops.language.steps._surroundings import SentWebhook


class SendParameters(Model):
    """The file in webhooks/, the event, the owner of the receivers, and the payload."""

    webhook: Static
    event: Static
    owner: ValueField | None = None
    payload: ValueField | None = None


class Send(Step):
    """Send a signed message in the background and go on at once; in a transaction, if it commits.

    - The `payload` must fit the shape of the event in `webhooks/`, and may hold nothing private.
    - `owner` selects the receivers, if the webhook has an `owner`.
    - The result is `{id}`, the `webhook-id` of the message.
    - In tests nothing is sent, and `expect.sent` names what was. A draft writes it to the log.
    """

    run_by: ClassVar[str] = "bbops.runtime.work.sent_webhooks"
    title: ClassVar[str] = "Send Webhook"
    writes: ClassVar[bool] = True
    fits_transaction: ClassVar[bool] = True
    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            "Tell partners of a note",
            "- send: { webhook: partners, event: note.added, payload: { title: new } }\n"
            "  as: message\n"
            "- return:\n    value: ${ vars.message.id | startsWith('msg_') }",
            value=True,
        ),
    )

    send: SendParameters

    def check(self, at: Checking) -> Type:
        told = self.send
        payload = at.public(told.payload, "this message") if told.payload else NULL
        owner = at.public(told.owner, "this message") if told.owner else None
        found = at.webhooks.get(told.webhook)
        if found is None:
            if ("webhooks", told.webhook) not in at.broken:
                message = f"webhook '{told.webhook}' does not exist"
                hint = suggest_resource(told.webhook, "webhooks", at.webhooks)
                at.report(mark_of(told.webhook), "unknown-webhook", message, hint)
            return map_of({"id": TEXT}, "the message")
        self.check_owner(at, owner, found)
        wanted = found.events.get(told.event)
        if wanted is None:
            message = f"webhook '{told.webhook}' has no event '{told.event}'"
            hint = suggest(told.event, found.events) or "declare it under 'events' there"
            at.report(mark_of(told.event), "unknown-event", message, hint)
        else:
            place = self.place("payload") or self.place("event")
            check_payload(at, told.payload, payload, wanted, f"event '{told.event}'", place)
            refuse_unknown(at, told.payload, wanted, f"event '{told.event}'")
        return map_of({"id": TEXT}, "the message")

    def check_owner(self, at: Checking, of: Type | None, found: SentWebhook) -> None:
        """Check that an owner is given exactly if the webhook has one."""
        webhook, value = self.send.webhook, self.send.owner
        if found.owner is None and value is not None:
            message = f"the receivers of webhook '{webhook}' have no owner"
            hint = "remove 'owner', or name a column under 'receivers' there"
            at.report(self.place("owner"), "unknown-field", message, hint)
        elif found.owner is not None and (value is None or of is None):
            message = f"webhook '{webhook}' needs 'owner'"
            at.report(mark_of(webhook), "missing-argument", message, "say whose receivers are told")
        elif found.owner is not None and value is not None and of is not None:
            at.fit(value, of, found.owner, "'owner'", self.place("owner"))

    def code(self, flow: Flow) -> list[ast.stmt]:
        told = self.send
        return flow.compute(
            self.as_,
            "await send(host, webhook, event, owner, payload)",
            send="bbops.runtime.steps.work:send",
            host=flow.root("host"),
            webhook=ast.Constant(str(told.webhook)),
            event=ast.Constant(str(told.event)),
            owner=flow.value(told.owner),
            payload=flow.value(told.payload),
        )
