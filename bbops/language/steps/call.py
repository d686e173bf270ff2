"""call: run another function and take the value of its return."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import ClassVar

from bbops.base.diagnostics import suggest
from bbops.base.model import Model
from bbops.language.expressions.conversions import conversion
from bbops.language.expressions.types import NEVER, Type, find_misfit, map_of
from bbops.language.expressions.values import MapValue, Value, ValueField
from bbops.language.steps._base import Checking, Example, Static, Step, mark_of
from bbops.language.steps._checking import Signature
from bbops.language.steps._flow import Flow

_WRONGS = {
    "private-data": "expose a private value it receives here",
    "private-stored": "store a private value it receives here in a column that is not private",
    "secret-compared":
        "compare a secret env variable it receives here with a value that is not a constant",
}  # fmt: skip


class CallParameters(Model):
    """The function, and the only values it sees."""

    function: Static
    input: ValueField | None = None
    params: ValueField | None = None
    query: ValueField | None = None


class Call(Step):
    """Run a function with variables of its own; what it throws goes through.

    - What is given must fit the shapes of the function; the result is what it returns, with its
      type, also where functions call each other.
    - It has only what it is given: no `headers`, no `request`, no `vars.auth`.
    - Private columns may be returned to the caller by a function that is only called.
    """

    title: ClassVar[str] = "Call Function"
    fits_transaction: ClassVar[bool] = True
    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            "Ask another function",
            "- call: { function: double, input: { number: 21 } }\n"
            "  as: answer\n"
            "- return:\n    value: ${ vars.answer }",
            value=42,
        ),
    )

    call: CallParameters

    def check(self, at: Checking) -> Type:
        known = at.function(self.call.function)
        private: set[tuple[str, str, bool]] = set()
        for part in ("input", "params", "query"):
            value: Value | None = getattr(self.call, part)
            of = map_of({}) if value is None else at.value(value)
            if known is not None:
                private |= self.check_part(at, part, value, of, known)
        if known is None:
            return NEVER
        gives, leaks = known.call(frozenset(private))
        for leak in leaks:
            message = f"function '{self.call.function}' would {_WRONGS[leak.code]}"
            place = mark_of(self.call.function)
            at.report(place, leak.code, message, f"it does so in {leak.place}")
        return gives

    def calls(self) -> Sequence[str]:
        return (str(self.call.function),)

    def check_part(
        self, at: Checking, part: str, value: Value | None, of: Type, known: Signature
    ) -> set[tuple[str, str, bool]]:
        """Check `input`, `params` or `query`; return the private ones of its arguments."""
        place = mark_of(value) or self.place(part)
        if value is not None and of.kind not in {"map", "any", "null"}:
            at.report(place, "type", f"'{part}' needs a map, got {of}")
        if isinstance(value, MapValue):
            self.refuse_unknown(at, part, value, known)
        declared = known.arguments[part].fields or {}
        if of.fields is None:
            return {(part, name, of.holds_secret) for name in declared if of.hides}
        for name, wanted in declared.items():
            self.check_argument(at, part, name, value, of.fields.get(name, of.rest), wanted, known)
        given = {name: one for name, one in of.fields.items() if name in declared and one.hides}
        return {(part, name, one.holds_secret) for name, one in given.items()}

    def refuse_unknown(self, at: Checking, part: str, value: MapValue, known: Signature) -> None:
        declared = known.arguments[part].fields or {}
        for key, _ in value.items:
            if key not in declared:
                at.report(
                    (value.keys_at or {}).get(key), "unknown-field",
                    f"function '{self.call.function}' declares no {part} '{key}'",
                    suggest(key, declared),
                )  # fmt: skip

    def check_argument(
        self, at: Checking, part: str, name: str, value: Value | None, of: Type | None,
        wanted: Type, known: Signature,
    ) -> None:  # fmt: skip
        function = self.call.function
        needs = (part, name) in known.required
        if of is None or (of.absent and needs):
            if needs:
                message = f"function '{function}' needs {part} '{name}'"
                at.report(mark_of(function), "missing-argument", message)
            return
        given = dict(value.items).get(name) if isinstance(value, MapValue) else value
        found = find_misfit(of.not_null() if of.absent else of,
                            wanted.not_null() if wanted.absent else wanted)  # fmt: skip
        if given is None or found is None:
            return
        who, place = f"{part} '{name}{found.path}' of function '{function}'", self.place(part)
        if not found.is_null:
            message = f"{who} needs {found.wanted}, got {found.found}"
            at.report(
                mark_of(given) or place, "type", message, conversion(found.found, found.wanted)
            )
        elif found.path or given is value:
            hint = "add '| default(…)' where it is made"
            message = f"{who} takes no null, and this may be null"
            at.report(mark_of(given) or place, "maybe-null", message, hint)
        else:
            hint = "add '| default(…)', or allow null there with '?' after the type"
            at.refuse_null(given, of, who, place, hint)

    def code(self, flow: Flow) -> list[ast.stmt]:
        return flow.tick() + flow.store(
            self.as_,
            flow.expression(
                "await invoke(run, callee, input, params, query)",
                invoke="bbops.runtime.flow.run:invoke",
                callee=flow.callee(str(self.call.function)),
                input=flow.value(self.call.input),
                params=flow.value(self.call.params),
                query=flow.value(self.call.query),
            ),
        )
