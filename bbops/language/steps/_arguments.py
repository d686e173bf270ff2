"""The arguments of `call` and `enqueue`, checked against the declarations of the function."""

from __future__ import annotations

from dataclasses import dataclass

from bbops.base.diagnostics import suggest
from bbops.language.expressions.conversions import conversion
from bbops.language.expressions.types import Type, find_misfit
from bbops.language.expressions.values import MapValue, Value
from bbops.language.steps._base import Checking, Step, mark_of
from bbops.language.steps._surroundings import Signature
from bbops.source.yaml.document import Text


@dataclass(frozen=True, slots=True)
class Arguments:
    """Checks the arguments of one step.

    Attributes:
        at: the step.
        function: the name of the called function.
        known: the signature of the function.
    """

    at: Checking
    step: Step
    function: Text
    known: Signature

    def check(self, part: str, value: Value | None, of: Type) -> set[tuple[str, str, bool]]:
        """Check `input`, `params` or `query`; return the private arguments."""
        place = mark_of(value) or self.step.place(part)
        if value is not None and of.kind not in {"map", "any", "null"}:
            self.at.report(place, "type", f"'{part}' needs a map, got {of}")
        if isinstance(value, MapValue):
            self._refuse_unknown(part, value)
        declared = self.known.arguments[part].fields or {}
        if of.fields is None:
            return {(part, name, of.holds_secret) for name in declared if of.hides}
        for name, wanted in declared.items():
            self._check_one(part, name, value, of.fields.get(name, of.rest), wanted)
        given = {
            name: field for name, field in of.fields.items() if name in declared and field.hides
        }
        return {(part, name, field.holds_secret) for name, field in given.items()}

    def _refuse_unknown(self, part: str, value: MapValue) -> None:
        declared = self.known.arguments[part].fields or {}
        for key, _ in value.items:
            if key not in declared:
                self.at.report(
                    (value.keys_at or {}).get(key), "unknown-field",
                    f"function '{self.function}' declares no {part} '{key}'",
                    suggest(key, declared),
                )  # fmt: skip

    def _check_one(
        self, part: str, name: str, value: Value | None, of: Type | None, wanted: Type
    ) -> None:
        at, function = self.at, self.function
        needs = (part, name) in self.known.required
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
        who, place = f"{part} '{name}{found.path}' of function '{function}'", self.step.place(part)
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
