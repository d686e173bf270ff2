"""The base classes of steps, and the reading of a step from YAML."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, PlainValidator, PrivateAttr, SerializeAsAny, model_validator
from pydantic_core import PydanticCustomError

from bbops.base.diagnostics import did_you_mean, find_nearest
from bbops.base.model import Model
from bbops.base.names import Duration, VariableName
from bbops.base.registry import members
from bbops.language.expressions.nodes import Literal
from bbops.language.expressions.types import Type
from bbops.language.expressions.values import Bare, Constant, Expression
from bbops.language.sql.types import SqlTable
from bbops.language.steps._checking import Checking, mark_of
from bbops.language.steps._flow import Flow
from bbops.language.steps._notes import Round
from bbops.language.steps._ruled import Past
from bbops.runtime.values.units import seconds
from bbops.source.yaml.document import Map, Mark, Text

__all__ = [
    "Added",
    "Checking",
    "Example",
    "Retry",
    "Static",
    "Step",
    "Steps",
    "add_steps",
    "every_step",
    "find_step_kind",
    "mark_of",
    "read_static",
    "read_step",
    "refuse_return",
    "step_kinds",
    "variables",
]


@dataclass(frozen=True, slots=True)
class Example:
    """Steps as YAML, and the result of a function with them. Shown in the docs, run as a test.

    Attributes:
        steps: the list of steps, in a project that has the table `notes` (id, title, done).
        value: the value of its `return`.
        input: the request's body.
        status: the status of its answer.
        is_job: a job runs it, so no request gets its answer.
    """

    title: str
    steps: str
    value: Any = None
    input: Any = None
    status: int = 200
    is_job: bool = False


class Retry(Model):
    """The number of attempts of a step, and the pauses between them."""

    attempts: Annotated[int, Field(ge=2, le=10)] = 3
    backoff: Duration = "1s"
    factor: Annotated[float, Field(ge=1, le=10)] = 2.0


class Step(Model):
    """One step: an action key with its parameters, and `as`, `name`, `timeout`, `retry` beside it.

    Attributes:
        leaves: it leaves the function as `return` does.
        waits: it may take time or fail for a while, so `timeout` and `retry` make sense.
        fits_transaction: a rollback undoes all of its effects.
        writes: it changes data that lasts, or reaches another service.
        sleeps: it ends the run of a job, which continues later.
        keeps_rules: it obeys the rules of tables; any other step is refused for tables with rules.
    """

    title: ClassVar[str]
    examples: ClassVar[tuple[Example, ...]]
    leaves: ClassVar[bool] = False
    waits: ClassVar[bool] = True
    fits_transaction: ClassVar[bool] = False
    writes: ClassVar[bool] = False
    sleeps: ClassVar[bool] = False
    keeps_rules: ClassVar[bool] = False

    as_: VariableName | None = Field(default=None, alias="as")
    name: str | None = None
    timeout: Duration | None = None
    retry: Retry | None = None
    _mark: Mark | None = PrivateAttr(default=None)
    _places: Mapping[str, Mark] = PrivateAttr(default_factory=dict)
    _keys: Mapping[str, Mark] = PrivateAttr(default_factory=dict)
    _action_at: Mark | None = PrivateAttr(default=None)

    @model_validator(mode="after")
    def check_patience(self) -> Self:
        """Refuse `timeout` and `retry` on steps without a use for them."""
        if self.retry is not None and self.blocks():
            hint = "put its steps into a function, and retry the 'call'"
            raise PydanticCustomError("retry", "a step with steps inside has no 'retry'",
                                      {"hint": hint})  # fmt: skip
        if not self.waits and (self.timeout or self.retry):
            raise PydanticCustomError("retry", "this step takes neither 'timeout' nor 'retry'")
        return self

    @property
    def mark(self) -> Mark | None:
        """The place of the step's beginning."""
        return self._mark

    @property
    def action_mark(self) -> Mark | None:
        """The place of its action."""
        return self._action_at or self._mark

    @property
    def key(self) -> str:
        """The action, as it is written."""
        own = next(name for name in type(self).model_fields if name not in Step.model_fields)
        return type(self).model_fields[own].alias or own

    @property
    def past(self) -> Past:
        """The rules of tables that it ignores."""
        given = [model for model in vars(self).values() if isinstance(model, Model)]
        for parameters in given:
            if hasattr(parameters, "bypass_access"):
                return Past(parameters.unscoped, parameters.bypass_access)  # type: ignore[attr-defined]
        return Past()

    def seen(self, tables: Mapping[str, SqlTable]) -> Mapping[str, SqlTable]:
        """Return the tables with the rules that apply to this step."""
        return self.past.seen(tables)

    def line(self, flow: Flow) -> ast.expr:
        """Return the code of the step's place, such as `functions/greet.yaml:4`."""
        return ast.Constant(f"{flow.name}:{self.mark.line if self.mark else 1}")

    def place(self, key: str) -> Mark | None:
        """Return the place of a parameter's value, or of a key beside the action."""
        return self._places.get(key)

    def key_place(self, key: str) -> Mark | None:
        """Return the place of a parameter's name."""
        return self._keys.get(key)

    def check(self, at: Checking) -> Type:
        """Report the step's mistakes and return the type of its result."""
        raise NotImplementedError

    def code(self, flow: Flow) -> list[ast.stmt]:
        """Return the step as Python statements. Called only on a step without mistakes."""
        raise NotImplementedError

    def whole_code(self, flow: Flow) -> list[ast.stmt]:
        """Return the step's code inside of the code of `timeout` and `retry`."""
        with flow.seeing(self.seen(flow.tables)):
            code = self.code(flow)
        if self.timeout is not None:
            code = flow.in_time(seconds(self.timeout), code, repeats=self.repeats())
        return self.again(flow, code)

    def again(self, flow: Flow, code: list[ast.stmt]) -> list[ast.stmt]:
        """Return code inside of the code of `retry`."""
        if self.retry is None:
            return code
        again = self.retry
        return flow.repeated(again.attempts, seconds(again.backoff), again.factor, code)

    def is_streamed(self) -> bool:
        """Return whether `return: { stream: … }` can stream its result."""
        return False

    def stream_seconds(self) -> float:
        """Return how long the whole stream may take."""
        return 0.0

    def stream_code(self, flow: Flow, name: str) -> list[ast.stmt]:
        """Return the code that begins the step and stores its stream as `name`."""
        raise NotImplementedError

    def repeats(self) -> bool:
        """Return whether it may run again after an attempt with an unknown outcome."""
        return True

    def blocks(self) -> Sequence[Sequence[Step]]:
        """Return the lists of steps inside this one."""
        return ()

    def calls(self) -> Sequence[str]:
        """Return the functions that this step calls."""
        return ()

    def starts(self) -> Sequence[str]:
        """Return the functions that jobs of this step run."""
        return ()

    def hears(self) -> str | None:
        """Return the event that this step waits for."""
        return None

    def sets(self) -> Sequence[str]:
        """Return the variables that this step itself sets."""
        return () if self.as_ is None else (self.as_,)


def every_step(steps: Iterable[Step]) -> Iterator[Step]:
    """Yield steps and the steps inside them, at any depth."""
    for step in steps:
        yield step
        for block in step.blocks():
            yield from every_step(block)


def variables(steps: Iterable[Step]) -> Iterator[str]:
    """Yield every variable that steps set, at any depth."""
    for step in every_step(steps):
        yield from step.sets()


def refuse_return(at: Checking, steps: Iterable[Step], where: str) -> None:
    """Report each `return` inside steps that cannot leave the function."""
    for step in every_step(steps):
        if step.leaves:
            hint = "set a variable, and return after it"
            at.report(step.mark, "return-inside", f"'return' is not allowed inside {where}", hint)


_USUAL_STEPS = {
    "for": "loop", "foreach": "loop", "each": "loop", "while": "loop", "select": "find",
    "query": "find", "read": "find", "get": "find", "create": "insert", "add": "insert",
    "save": "insert", "upsert": "insert", "patch": "update", "remove": "delete",
    "respond": "return", "response": "return", "reply": "return", "raise": "throw",
    "error": "throw", "assign": "set", "let": "set", "var": "set", "print": "log",
    "condition": "if", "run": "call", "invoke": "call", "function": "call",
}  # fmt: skip
_BESIDE = frozenset({
    "as", "name", "timeout", "retry", "then", "elif", "else", "cases", "catch", "finally",
})  # fmt: skip


@cache
def step_kinds() -> dict[str, type[Step]]:
    """Return every step kind by its key; the first call imports them all."""
    found: dict[str, type[Step]] = {}
    for key, module in members("bbops.language.steps"):
        (found[key],) = (item for item in vars(module).values() if _is_kind(item, module.__name__))
    return found


def find_step_kind(key: str) -> type[Step] | None:
    """Return the step kind of a key; `email.sendEmail` is made on its first use."""
    found = step_kinds().get(key)
    if found is None and "." in key:
        found = next(filter(None, (added.find(key) for added in _added)), None)
    return found


@dataclass(frozen=True)
class Added:
    """Step kinds of a package above this one.

    Attributes:
        find: returns the kind of a key; None for an unknown key.
        keys: returns the keys of all kinds whose key begins with a name and a dot.
    """

    find: Callable[[str], type[Step] | None]
    keys: Callable[[str], Iterable[str]]


_added: list[Added] = []


def add_steps(added: Added) -> None:
    """Register step kinds with `find_step_kind`; their package calls this when it is imported."""
    _added.append(added)


def _is_kind(item: object, module: str) -> bool:
    return isinstance(item, type) and issubclass(item, Step) and item.__module__ == module


def read_step(data: Any) -> Step:
    """Return the step of a YAML map; pydantic merges the errors of the kind it picks."""
    kinds = step_kinds()
    if not isinstance(data, dict):
        raise PydanticCustomError("step", "a step is a map with an action such as 'find'")
    actions = [key for key in data if key in kinds or find_step_kind(key) is not None]
    if len(actions) > 1:
        raise PydanticCustomError(
            "two_actions", "a step does one thing, this one has '{first}' and '{second}'",
            {"first": actions[0], "second": actions[1], "key": actions[1]},
        )  # fmt: skip
    if not actions:
        raise _unknown_step(data, kinds)
    kind = find_step_kind(actions[0])
    assert kind is not None  # noqa: S101 - the key is one of the actions
    step = kind.model_validate(data)
    if isinstance(data, Map):
        inner = data[actions[0]]
        places = inner.values_at if isinstance(inner, Map) else {}
        step._mark, step._places = data.mark, {**data.values_at, **places}  # noqa: SLF001 - ours
        step._action_at = data.keys_at.get(actions[0])  # noqa: SLF001 - own class
        named = next((node for node in (inner, *data.values()) if isinstance(node, Map)), None)
        step._keys = named.keys_at if named is not None else {}  # noqa: SLF001 - ours
    return step


def _unknown_step(data: dict[str, Any], kinds: Mapping[str, object]) -> PydanticCustomError:
    unknown = [key for key in data if key not in _BESIDE]
    if not unknown:
        return PydanticCustomError("step", "this step has no action, such as 'find' or 'return'")
    name = unknown[0]
    if "." in name:
        kinds = dict.fromkeys(key for added in _added for key in added.keys(name.partition(".")[0]))
    usual = _USUAL_STEPS.get(name.lower(), "")
    meant = usual if usual in kinds else find_nearest(name, kinds)
    listed = "steps are: " + ", ".join(list(kinds)[:40])
    hint = did_you_mean(name, meant) if meant else listed
    return PydanticCustomError(
        "unknown_step", "unknown step '{key}'", {"key": name, "hint": hint, "meant": meant}
    )


def read_static(data: Any) -> Text:
    """Return the text of a field without expressions."""
    if not isinstance(data, str) or not data:
        raise PydanticCustomError("string_type", "expected text")
    if "${" in data:
        raise PydanticCustomError("static", "this field takes no expressions")
    return data if isinstance(data, Text) else Text(data)


Static = Annotated[Text, PlainValidator(read_static)]
"""A text without expressions, with its place."""

Steps = Annotated[
    list[Annotated[SerializeAsAny[Step], PlainValidator(read_step)]], Field(min_length=1)
]
"""A list of steps."""


# ---- The shared part of `break` and `continue`: they end a round of the loop around them


def always(condition: Bare) -> bool:
    """Return whether a condition is the constant `true`."""
    if isinstance(condition, Expression):
        return isinstance(condition.node, Literal) and condition.node.value is True
    return isinstance(condition, Constant) and condition.value is True


def check_jump(at: Checking, key: str, condition: Bare, place: Mark | None) -> Round | None:
    """Check the condition; return the loop whose round the step ends, or report a missing loop.

    The facts of the condition hold at the jump, and their opposite in the steps after it.
    """
    yes, no = at.condition(condition, place)
    around = at.notes.around[-1] if at.notes.around else None
    if not isinstance(around, Round):
        message = f"'{key}' stands in no loop" if around is None else (
            f"'{key}' cannot leave {around}"
        )  # fmt: skip
        at.report(None, "no-loop", message, "set a variable there, and leave the loop behind it"
                  if around else "")  # fmt: skip
        return None
    list_ = around.broken if key == "break" else around.skipped
    list_.append(at.scope.known.copy(yes))
    at.scope.known = at.scope.known.copy(no)
    if always(condition):
        at.ends()
    return around
