"""wait: let a job sleep for a time, or until an event."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Final

from pydantic import Field, model_validator

from bbops.base.model import Model, need_one_of
from bbops.base.names import Duration, EventName
from bbops.language.expressions import nodes as s
from bbops.language.expressions.emit import load
from bbops.language.expressions.scope import Scope
from bbops.language.expressions.types import ANY, NULL, TEXT, Type, map_of
from bbops.language.expressions.values import BareField, Expression
from bbops.language.steps._awaited import find_awaited
from bbops.language.steps._base import Checking, Example, Step
from bbops.language.steps._flow import Flow
from bbops.runtime.values.filters import FUNCTIONS
from bbops.runtime.values.units import seconds
from bbops.runtime.work.values import is_reserved

LONGEST_SECONDS: Final = 365 * 86_400


class WaitParameters(Model):
    """A time, or an event with the condition on it and the time after which it is given up."""

    for_: Duration | None = Field(default=None, alias="for")
    event: EventName | None = None
    where: BareField | None = None
    timeout: Duration | None = None

    @model_validator(mode="before")
    @classmethod
    def check_keys(cls, data: Any) -> Any:
        """Refuse to wait for nothing, or for two things."""
        return need_one_of(cls, data, "for", "event")


class Wait(Step):
    """Let a job sleep: `for` a time, or until an `event` comes.

    - A job that sleeps takes no worker, survives restarts and publications, and keeps its place in
      its `lane`. `timeout` of the job does not count the time. It sleeps for a year at most.
    - An event counts from when the job began, also if it came before the job was at this step.
      In `where`, `event` is that one, also in a function that has an `event` of its own: set a
      variable to compare the two. An event on which `where` fails is passed over.
    - The result is the payload of the event, or null when the time of `timeout` is over, which is a
      year if it is left out. Each event is given to one `wait` of a job only, so a loop gets one
      after the other.
    - Begin `where` with a comparison such as `event.payload.id == vars.id`: only the jobs whose
      value the event holds are woken then, however many wait.
    - Only jobs can wait: the function must be run by tasks, triggers and `enqueue` alone.
    - In a test of the function the clock moves on at once, and no event comes.
    """

    run_by: ClassVar[str] = "bbops.runtime.steps.blocks"
    title: ClassVar[str] = "Wait"
    waits: ClassVar[bool] = False
    sleeps: ClassVar[bool] = True
    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            "Until an event",
            "- set: { id: 7 }\n"
            "- wait: { event: note.read, where: event.payload.id == vars.id, timeout: 14d }\n"
            "  as: read\n"
            "- return:\n    value: ${ vars.read == null }",
            value=True,
            is_job=True,
        ),
        Example(
            "A time",
            "- wait: { for: 3d }\n- return:\n    value: slept",
            value="slept",
            is_job=True,
        ),
    )

    wait: WaitParameters

    def check(self, at: Checking) -> Type:
        for key in ("for", "timeout"):
            given = self.wait.for_ if key == "for" else self.wait.timeout
            if given is not None and seconds(given) > LONGEST_SECONDS:
                at.report(self.place(key), "bad-value", "a job can wait for a year at most")
        if self.wait.event is None:
            self.check_time(at)
            return NULL
        self.check_event(at)
        return ANY.or_null()

    def check_time(self, at: Checking) -> None:
        for key in ("where", "timeout"):
            if getattr(self.wait, key) is not None:
                hint = "name the event, or remove the key"
                at.report(self.key_place(key), "wait", f"'{key}' is for waiting for an event", hint)
        if self.as_ is not None:
            hint = "remove 'as'; a wait for an event gives its payload"
            at.report(self.place("as"), "wait", "waiting for a time has no result", hint)

    def check_event(self, at: Checking) -> None:
        if is_reserved(str(self.wait.event)):
            hint = "use a trigger, which can run a function on it"
            message = f"a job cannot wait for '{self.wait.event}', which is an event of bbops"
            at.report(self.place("event"), "reserved-event", message, hint)
        where = self.wait.where
        if where is None:
            return
        with _about(at.scope, map_of({"name": TEXT, "payload": ANY}, "event")):
            at.condition(where, self.place("where"))
        for name in _doors(where.node) if isinstance(where, Expression) else ():
            hint = "set a variable before the step, and use that"
            at.report(
                self.place("where"),
                "not-in-where",
                f"'where' of a wait cannot use '{name}()'",
                hint,
            )

    def hears(self) -> str | None:
        return self.wait.event

    def code(self, flow: Flow) -> list[ast.stmt]:
        given = self.wait
        if given.event is None:
            length = round(1000 * seconds(given.for_ or "1ms"))
            return flow.run(
                "await pause(host, length)", pause="bbops.runtime.steps.blocks:pause",
                host=flow.root("host"), length=ast.Constant(length),
            )  # fmt: skip
        condition, is_it = self.condition(flow)
        longest = seconds(given.timeout) if given.timeout else LONGEST_SECONDS
        return condition + flow.compute(
            self.as_,
            "await hear(host, event, is_it, value, longest)",
            hear="bbops.runtime.steps.blocks:hear",
            host=flow.root("host"),
            event=ast.Constant(str(given.event)),
            is_it=is_it,
            value=self.value(flow),
            longest=ast.Constant(round(1000 * longest)),
        )

    def condition(self, flow: Flow) -> tuple[list[ast.stmt], ast.expr]:
        """Return the code of a function that tests an event, and its name."""
        if self.wait.where is None:
            return [], ast.Constant(None)
        name, event = flow.temporary(), flow.temporary()
        with flow.instead(event=load(event)):
            holds = flow.condition(self.wait.where)
        return flow.run(f"def {name}({event}):\n    return holds", holds=holds), load(name)

    def value(self, flow: Flow) -> ast.expr:
        """Return the code of the value that the event must contain; null if it is unknown."""
        where = self.wait.where
        found = find_awaited(where.node) if isinstance(where, Expression) else None
        return ast.Constant(None) if found is None else flow.emitter.node(found)


@contextmanager
def _about(scope: Scope, event: Type) -> Iterator[None]:
    """Type `event` as the awaited event in the block."""
    roots, known = scope.roots, scope.known
    scope.roots, scope.known = {**roots, "event": event}, known.copy()
    scope.known.forget("event")
    yield
    scope.roots, scope.known = roots, known


def _doors(node: s.Node) -> Iterator[str]:
    """Yield the functions in a condition whose results change."""
    if (
        isinstance(node, s.FunctionCall)
        and node.name in FUNCTIONS
        and FUNCTIONS[node.name].needs_host
    ):
        yield node.name
    for part in s.children(node):
        yield from _doors(part)
