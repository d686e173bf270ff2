"""emit: tell triggers that something happened."""

from __future__ import annotations

import ast
from typing import ClassVar

from bbops.base.diagnostics import suggest
from bbops.base.model import Model
from bbops.base.names import EventName
from bbops.language.expressions.types import NULL, Type
from bbops.language.expressions.values import ValueField
from bbops.language.steps._base import Checking, Example, Step
from bbops.language.steps._flow import Flow
from bbops.language.steps._mismatches import check_payload
from bbops.runtime.work.values import RESERVED_PREFIX, is_reserved


class EmitParameters(Model):
    """The event, such as `user.registered`, and what its triggers are given."""

    event: EventName
    payload: ValueField | None = None


class Emit(Step):
    """Run the functions of its triggers in the background; in a transaction, once it commits.

    - The `payload` must fit what the functions of the event's triggers declare.
    - In tests, `expect.events` names what was emitted.
    """

    run_by: ClassVar[str] = "bbops.runtime.work.events"
    title: ClassVar[str] = "Emit Event"
    writes: ClassVar[bool] = True
    fits_transaction: ClassVar[bool] = True
    examples: ClassVar[tuple[Example, ...]] = (
        Example("Say that a note was made", "- emit: { event: note.added, payload: { id: 4 } }"),
    )

    emit: EmitParameters

    def check(self, at: Checking) -> Type:
        if is_reserved(self.emit.event):
            hint = f"give the event an entity of your own, not '{RESERVED_PREFIX}'"
            message = f"only bbops emits '{self.emit.event}'"
            at.report(self.place("event"), "reserved-event", message, hint)
        what, place = f"event '{self.emit.event}'", self.place("payload") or self.place("event")
        of = at.public(self.emit.payload, "this event") if self.emit.payload else NULL
        if self.emit.event not in at.payloads and (hint := suggest(self.emit.event, at.payloads)):
            at.report(self.place("event"), "unheard-event", f"nothing waits for {what}", hint)
        for wanted in at.payloads.get(self.emit.event, ()):
            check_payload(at, self.emit.payload, of, wanted, what, place)
        return NULL

    def code(self, flow: Flow) -> list[ast.stmt]:
        return flow.run(
            "await emit(host, event, payload, run.origin(line))",
            emit="bbops.runtime.steps.work:emit",
            host=flow.root("host"),
            event=ast.Constant(str(self.emit.event)),
            payload=flow.value(self.emit.payload),
            line=self.line(flow),
        )
