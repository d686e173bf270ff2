"""What every step has in common, and what a step may ask while it is checked."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Annotated, Any, ClassVar

from pydantic import Field, PlainValidator, PrivateAttr, SerializeAsAny
from pydantic_core import PydanticCustomError

from bbops.diagnostics import suggest
from bbops.expressions.check import check_value
from bbops.expressions.scope import Scope
from bbops.expressions.types import ANY, Type, fits, has_private
from bbops.expressions.values import Bare, Expression, ListValue, MapValue, Value
from bbops.model import Model
from bbops.names import VariableName
from bbops.registry import members
from bbops.runtime.headers import can_set
from bbops.sql.types import Table
from bbops.steps._flow import Flow
from bbops.yaml.document import Map, Mark, Text


@dataclass(frozen=True, slots=True)
class Example:
    """Steps as YAML, and what a function of them returns. Shown in the docs, run as a test.

    Attributes:
        steps: the list of steps, in a project that has the table `notes` (id, title, done).
        value: the value of its `return`.
        input: the request's body.
        status: the status of its answer.
    """

    title: str
    steps: str
    value: Any = None
    input: Any = None
    status: int = 200


@dataclass(frozen=True, slots=True)
class Signature:
    """What `call` has to know of a function."""

    inputs: Mapping[str, tuple[Sequence[str], Sequence[str]]]
    """For input, params and query: (every declared name, the required ones)."""


@dataclass(frozen=True, slots=True)
class Checking:
    """What a step may ask while it is checked."""

    scope: Scope
    tables: Mapping[str, Table]
    functions: Mapping[str, Signature]
    step: Mark | None
    broken: frozenset[tuple[str, str]] = frozenset()
    reads: set[tuple[str, str]] = field(default_factory=set)
    """(kind, name) of everything looked up: what the code depends on."""

    def report(self, at: Mark | None, code: str, message: str, hint: str = "") -> None:
        """Take a mistake at `at`, or at the step."""
        self.scope.report(at or self.step, 0, code, message, hint)

    def value(self, value: Value | None, *, within: Scope | None = None) -> Type:
        """Check a value and return its type; one that was left out is `any`."""
        return ANY if value is None else check_value(value, within or self.scope)

    def bare(self, expression: Bare, *, within: Scope | None = None) -> Type:
        """Check an expression without `${ }`."""
        return check_value(expression, within or self.scope)

    def is_sound(self, expression: Expression) -> bool:
        """Return whether checking an expression reported nothing."""
        return id(expression.node) not in self.scope.wrong

    def condition(self, expression: Bare, place: Mark | None) -> None:
        """Check an expression that must be true or false."""
        found = self.bare(expression)
        if not fits(found, "boolean"):
            self.report(
                place, "condition", f"a condition needs true or false, got {found}",
                "compare it, for example with '!= null'",
            )  # fmt: skip

    def own_names(self, *names: str | None) -> None:
        """Refuse the one variable that a function cannot set."""
        if "auth" in names:
            self.report(None, "reserved-name", "'vars.auth' is the signed-in user", "rename it")

    def public(self, value: Value | None, what: str) -> None:
        """Check a value that leaves the server: it may hold nothing private, at any depth."""
        if isinstance(value, MapValue | ListValue):
            for item in value.items:
                self.public(item[1] if isinstance(item, tuple) else item, what)
        elif has_private(self.value(value)):
            self.report(
                getattr(value, "mark", None), "private-data",
                f"{what} would give away a private column or a secret",
                "choose the fields you want, or use '| omit(…)'",
            )  # fmt: skip

    def headers(self, value: Value | None, what: str) -> None:
        """Check the headers of an answer: names it may set, nothing private."""
        self.public(value, what)
        for name, _ in value.items if isinstance(value, MapValue) else ():
            if not can_set(name):
                self.report(
                    (value.keys_at or {}).get(name) if isinstance(value, MapValue) else None,
                    "bad-name", f"header '{name}' cannot be set",
                    "use 'contentType'" if name.lower() == "content-type" else "",
                )  # fmt: skip

    def steps(self, steps: Sequence[Step]) -> None:
        """Check a list of steps in order; each sees what the ones before it set."""
        for step in steps:
            self.one(step)

    def one(self, step: Step) -> None:
        inner = replace(self, step=step.mark or self.step)
        found = step.check(inner)
        if step.as_ is not None:
            inner.own_names(step.as_)
            self.scope.set(step.as_, found)

    def table(self, name: Text) -> Table | None:
        """Return the table of that name, or report that there is none."""
        self.reads.add(("table", str(name)))
        found = self.tables.get(name)
        if found is None and ("tables", name) not in self.broken:
            self.report(
                mark_of(name), "unknown-table", f"table '{name}' does not exist",
                suggest(name, self.tables) or f"make tables/{name}.yaml",
            )  # fmt: skip
        return found

    def function(self, name: Text) -> Signature | None:
        """Return the signature of the function of that name, or report that there is none."""
        self.reads.add(("function", str(name)))
        found = self.functions.get(name)
        if found is None and ("functions", name) not in self.broken:
            self.report(
                mark_of(name), "unknown-function", f"function '{name}' does not exist",
                suggest(name, self.functions) or f"make functions/{name}.yaml",
            )  # fmt: skip
        return found


class Step(Model):
    """One step: an action key with its parameters, and `as` and `name` beside it."""

    title: ClassVar[str]
    examples: ClassVar[tuple[Example, ...]]

    as_: VariableName | None = Field(default=None, alias="as")
    name: str | None = None
    _mark: Mark | None = PrivateAttr(default=None)
    _places: Mapping[str, Mark] = PrivateAttr(default_factory=dict)

    @property
    def mark(self) -> Mark | None:
        """Where the step begins."""
        return self._mark

    def place(self, key: str) -> Mark | None:
        """Return where the value of a parameter stands, or of a key beside the action."""
        return self._places.get(key)

    def check(self, at: Checking) -> Type:
        """Report the step's mistakes and return the type of its result."""
        raise NotImplementedError

    def code(self, flow: Flow) -> list[ast.stmt]:
        """Return the step as Python statements. Called only on a step without mistakes."""
        raise NotImplementedError

    def blocks(self) -> Sequence[Sequence[Step]]:
        """Return the lists of steps inside this one."""
        return ()

    def calls(self) -> Sequence[str]:
        """Return the functions that this step runs by itself."""
        return ()

    def sets(self) -> Sequence[str]:
        """Return the variables that this step itself sets."""
        return () if self.as_ is None else (self.as_,)


_USUAL_STEPS = {
    "for": "loop", "foreach": "loop", "each": "loop", "while": "loop", "select": "find",
    "query": "find", "read": "find", "get": "find", "create": "insert", "add": "insert",
    "save": "insert", "upsert": "insert", "patch": "update", "remove": "delete",
    "respond": "return", "response": "return", "reply": "return", "raise": "throw",
    "error": "throw", "assign": "set", "let": "set", "var": "set", "print": "log",
    "condition": "if", "run": "call", "invoke": "call", "function": "call",
}  # fmt: skip
_BESIDE = frozenset({"as", "name", "timeout", "retry", "then", "else", "catch", "finally"})


@cache
def step_kinds() -> dict[str, type[Step]]:
    """Return every step kind by its key; the first call imports them all."""
    found: dict[str, type[Step]] = {}
    for key, module in members("bbops.steps"):
        (found[key],) = (item for item in vars(module).values() if _is_kind(item, module.__name__))
    return found


def _is_kind(item: object, module: str) -> bool:
    return isinstance(item, type) and issubclass(item, Step) and item.__module__ == module


def read_step(data: Any) -> Step:
    """Return the step of a YAML map; pydantic merges the errors of the kind it picks."""
    kinds = step_kinds()
    if not isinstance(data, dict):
        raise PydanticCustomError("step", "a step is a map with an action such as 'find'")
    actions = [key for key in data if key in kinds]
    if len(actions) > 1:
        raise PydanticCustomError(
            "two_actions", "a step does one thing, this one has '{first}' and '{second}'",
            {"first": actions[0], "second": actions[1], "key": actions[1]},
        )  # fmt: skip
    if not actions:
        raise _unknown_step(data, kinds)
    step = kinds[actions[0]].model_validate(data)
    if isinstance(data, Map):
        inner = data[actions[0]]
        places = inner.values_at if isinstance(inner, Map) else {}
        step._mark, step._places = data.mark, {**data.values_at, **places}  # noqa: SLF001 - ours
    return step


def _unknown_step(data: dict[str, Any], kinds: Mapping[str, type[Step]]) -> PydanticCustomError:
    unknown = [key for key in data if key not in _BESIDE]
    if not unknown:
        return PydanticCustomError("step", "this step has no action, such as 'find' or 'return'")
    name = unknown[0]
    usual = _USUAL_STEPS.get(name.lower())
    hint = f"did you mean '{usual}'?" if usual in kinds else suggest(name, kinds)
    return PydanticCustomError(
        "unknown_step", "unknown step '{key}'",
        {"key": name, "hint": hint or "steps are: " + ", ".join(kinds)},
    )  # fmt: skip


def read_static(data: Any) -> Text:
    """Return the text of a field that takes no expressions."""
    if not isinstance(data, str) or not data:
        raise PydanticCustomError("string_type", "expected text")
    if "${" in data:
        raise PydanticCustomError("static", "this field takes no expressions")
    return data if isinstance(data, Text) else Text(data)


def mark_of(text: object) -> Mark | None:
    """Return where a text stands, if it came from a file."""
    return getattr(text, "mark", None)


Static = Annotated[Text, PlainValidator(read_static)]
"""A text without expressions that knows where it stands."""

Steps = Annotated[
    list[Annotated[SerializeAsAny[Step], PlainValidator(read_step)]], Field(min_length=1)
]
"""A list of steps."""
