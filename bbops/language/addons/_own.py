"""Steps of a project's own addons, which are files of the project: `billing.createRefund`.

A function's file is read without the addons of its steps: the reader accepts any name of two parts
that no addon of the catalog has. The check compares the step with the file of its addon.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Field, create_model

from bbops.base.diagnostics import suggest
from bbops.language.addons._base import AddonStep, kind, kinds, step_keys
from bbops.language.expressions.conversions import conversion
from bbops.language.expressions.emit import load
from bbops.language.expressions.types import NEVER, Type, find_misfit
from bbops.language.expressions.values import Constant, ListValue, MapValue, Value, ValueField
from bbops.language.steps._base import Added, Checking, Step, add_steps, mark_of
from bbops.language.steps._flow import Flow, OwnAction
from bbops.runtime.values.shapes import compile_shape
from bbops.runtime.values.units import seconds
from bbops.runtime.vendors._work import MOST_ANSWER_BYTES

_KEY = re.compile(r"([a-z][A-Za-z0-9]{0,62})\.([a-z][A-Za-z0-9]{0,62})").fullmatch
_MOST_KINDS: Final = 1_000
_DRAWN = "key_"
"""The variable of compiled code that holds the key of a request."""


class OwnAddonStep(AddonStep):
    """A step of a project's own addon."""

    @classmethod
    def is_supported(cls) -> bool:
        return True

    def repeats(self) -> bool:
        """Return False: only the file of the step knows, see `whole_code`."""
        return False

    @property
    def given(self) -> dict[str, Value]:
        """The values of the given parameters, by their names."""
        found: dict[str, Value] = self.parameters_  # type: ignore[attr-defined]
        return dict(found)

    def check(self, at: Checking) -> Type:
        addon, _, name = self.id.partition(".")
        at.notes.reads.update((("addon", addon), ("addon", f"{addon}/{name}")))
        action = at.addons.get(addon, {}).get(name)
        if action is None:
            self._report_unknown(at, addon, name)
            for value in self.given.values():
                at.value(value)
            return NEVER
        for parameter, value in self.given.items():
            self._check_one(at, action, parameter, value)
        for parameter in action.parameters:
            if parameter not in self.given and not action.may_lack(parameter):
                at.report(None, "missing-key", f"'{parameter}' is missing")
        return action.gives

    def _report_unknown(self, at: Checking, addon: str, name: str) -> None:
        if not {("addons", addon), ("addons", f"{addon}/{name}")}.isdisjoint(at.broken):
            return
        known = at.addons.get(addon)
        if known is not None:
            hint = suggest(self.id, [f"{addon}.{action_name}" for action_name in known])
            hint = hint or f"its steps are files in addons/{addon}/"
        else:
            every = [f"{other}.{step}" for other, steps in at.addons.items() for step in steps]
            hint = suggest(self.id, [*every, *step_keys()])
            hint = hint or "addons are: " + ", ".join([*at.addons, *kinds()])
        at.report(self.action_mark, "unknown-step", f"unknown step '{self.id}'", hint)

    def _check_one(self, at: Checking, action: OwnAction, name: str, value: Value) -> None:
        wanted = action.parameters.get(name)
        if wanted is None:
            known = [name_ for name_ in action.parameters if name_ not in self.given]
            hint = suggest(name, known) or _listed(action.parameters)
            at.value(value)
            at.report(self.key_place(name), "unknown-key", f"unknown key '{name}'", hint)
            return
        of, place = at.value(value), mark_of(value) or self.place(name)
        if _refuse_unknown(at, value, wanted, name):
            return
        if isinstance(value, Constant) and value.value is not None and not wanted.fields:
            self._check_constant(at, action, name, value)
            return
        if action.may_lack(name):  # null means that it is left out
            of, wanted = of.not_null() if of.nullable else of, wanted.not_null()
        found = find_misfit(of, wanted)
        if found is None:
            return
        who = f"'{name}{found.path}'"
        if found.is_null:
            hint = "add '| default(…)', or '?' after its type in the addon's file"
            at.report(place, "maybe-null", f"{who} takes no null, and this may be null", hint)
        else:
            message = f"{who} needs {found.wanted}, got {found.found}"
            at.report(place, "type", message, conversion(found.found, found.wanted))

    def _check_constant(self, at: Checking, action: OwnAction, name: str, value: Constant) -> None:
        """Report a constant that the shape rejects, with the message of the shape."""
        errors: dict[str, list[str]] = {}
        spec = action.shape[name]
        compile_shape({name: spec})({name: value.value}, "", errors)
        for texts in errors.values():
            options = [str(option) for option in spec.get("enum") or ()]
            hint = suggest(str(value.value), options)
            message = f"'{name}' {texts[0]}, got {_shown(value.value)}"
            at.report(value.mark or self.place(name), "bad-value", message, hint)
            return

    def terms_of(self, action: OwnAction) -> tuple[bool, float, int, float]:
        """Return the fields of `Terms`."""
        own = seconds(self.timeout) if self.timeout else 0.0
        return action.repeat != "no", max(action.seconds, own), MOST_ANSWER_BYTES, 0.0

    def whole_code(self, flow: Flow) -> list[ast.stmt]:
        """Return the code with its attempts; the key is drawn before them."""
        action = flow.actions[self.id]
        code = self.code(flow)
        if self.timeout is not None:
            code = flow.in_time(seconds(self.timeout), code, repeats=action.repeat != "no")
        if self.retry is not None:
            again = self.retry
            code = flow.repeated(again.attempts, seconds(again.backoff), again.factor, code)
        if action.repeat != "key":
            return code
        return [*flow.run(f"{_DRAWN} = host.random.uuid()", host=flow.root("host")), *code]

    def code(self, flow: Flow) -> list[ast.stmt]:
        action = flow.actions[self.id]
        given = {name: flow.value(value) for name, value in self.given.items()}
        called = flow.expression(
            "await call_addon(run, step, parameters, read, None, terms, key)",
            call_addon="bbops.runtime.steps.addons:call_addon",
            step=ast.Constant(self.id),
            parameters=ast.Dict([ast.Constant(name) for name in given], [*given.values()]),
            terms=flow.constant("bbops.runtime.steps.addons:Terms", *self.terms_of(action)),
            key=load(_DRAWN) if action.repeat == "key" else ast.Constant(""),
            read=flow.constant(
                "bbops.runtime.steps.addons:make_reader", self.id, dict(action.spec)
            ),
        )
        return flow.store(self.as_, called)


def _shown(value: object) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f"'{text[:60]}'" if isinstance(value, str) else text


def _listed(parameters: Mapping[str, Type]) -> str:
    return "known here: " + ", ".join([*parameters][:20]) if parameters else "it has no parameters"


def _refuse_unknown(at: Checking, value: Value, wanted: Type, path: str) -> bool:
    """Report names of maps that are missing in the shape, at any depth."""
    found = False
    if isinstance(value, MapValue) and wanted.fields is not None:
        for name, inner in value.items:
            of = wanted.fields.get(name)
            if of is not None:
                found |= _refuse_unknown(at, inner, of, f"{path}.{name}")
                continue
            found, place = True, (value.keys_at or {}).get(name)
            at.report(
                place, "unknown-field", f"'{path}' has no field '{name}'",
                suggest(name, wanted.fields),
            )  # fmt: skip
    elif isinstance(value, ListValue) and wanted.item is not None:
        for inner in value.items:
            found |= _refuse_unknown(at, inner, wanted.item, f"{path}[]")
    return found


@lru_cache(maxsize=_MOST_KINDS)
def own_step_kind(key: str) -> type[Step] | None:
    """Return the kind of a step that may belong to one of the project's own addons."""
    match = _KEY(key)
    if match is None or kind(match[1]) is not None:
        return None
    held: Any = (
        Annotated[dict[str, ValueField], BeforeValidator(_no_parameters)], Field(alias=key),
    )  # fmt: skip
    name = key.replace(".", "_")
    step = create_model(name, __base__=OwnAddonStep, __doc__=OwnAddonStep.__doc__, parameters_=held)
    step.id = key
    step.title, step.examples = key, ()
    return step


def _no_parameters(data: Any) -> Any:
    """Accept `billing.x:` with an empty value as a step without parameters."""
    return {} if data is None else data


def _no_keys(addon: str) -> Iterable[str]:
    """Return nothing: only the project knows the steps."""
    del addon
    return ()


add_steps(Added(own_step_kind, _no_keys))
