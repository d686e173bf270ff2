"""What every addon has in common: a declaration, and the step kinds that are made from it.

Dropping a file into `bbops/language/addons/` is the whole registration: its name is the addon's
id, and the ids of its steps begin with it. What they do is in the file of the same name in
`bbops/runtime/vendors/`. The steps of an addon that is disabled or absent validate like any
others; they fail when they run.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, cast

from pydantic import BeforeValidator, Field, create_model

from bbops.base.model import Model
from bbops.base.registry import file_name, members
from bbops.language.addons._parameters import Parameter, check_constant, may, need, run_file
from bbops.language.addons._settings import Secret, Setting, is_secret
from bbops.language.expressions.emit import load
from bbops.language.expressions.types import Type
from bbops.language.expressions.values import Value, ValueField
from bbops.language.steps._base import Added, Checking, Example, Step, add_steps
from bbops.language.steps._flow import Flow
from bbops.runtime.values.durations import seconds
from bbops.runtime.vendors import find_probe, find_steps, module_of
from bbops.runtime.vendors._probe import Probe
from bbops.runtime.vendors._work import MOST_ANSWER_BYTES, TIMEOUT_SECONDS

__all__ = [
    "Action",
    "AddonKind",
    "Parameter",
    "Secret",
    "Setting",
    "kind",
    "kinds",
    "may",
    "need",
    "run_file",
]

Repeat = Literal["safe", "key", "no"]


@dataclass(frozen=True, slots=True)
class Action:
    """One step of an addon.

    Attributes:
        title: its name in the catalog.
        parameters: in the order in which they are shown.
        gives: the type of its result.
        example: one step as YAML; it validates in a project that has the addon.
        one_of: parameters of which at least one must be given.
        repeat: whether it may be done twice: `safe`; `key`, the vendor takes a key by which it
            knows a request again; `no`, so that `retry` repeats only what was not begun.
        seconds: how long an answer may take; the `timeout` of a step may be longer.
        most_bytes: of an answer.
        per_second: how many requests the vendor takes of one account; 0 for no limit of ours.
        streams: whether its vendor answers piece by piece where that is wanted.
        writes: whether it changes data outside of this run, or sends it to a person.
        answers: statuses with which the step itself answers the request, as `throw` does.
    """

    title: str
    summary: str
    parameters: tuple[Parameter, ...]
    gives: Type
    example: str
    one_of: tuple[str, ...] = ()
    repeat: Repeat = "no"
    seconds: float = TIMEOUT_SECONDS
    most_bytes: int = MOST_ANSWER_BYTES
    per_second: float = 0.0
    streams: bool = False
    writes: bool = True
    answers: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class AddonKind:
    """One addon of the catalog.

    Attributes:
        config: what `config` of addons/<id>.yaml holds; a field of type Secret is a secret.
        config_example: such a `config` as YAML.
        actions: its steps by their name behind the dot.
    """

    title: str
    summary: str
    config: type[Model]
    actions: Mapping[str, Action]
    config_example: str = ""
    hosts: tuple[str, ...] = ()
    """What its steps reach, where no `endpoint` is set; `*.` stands for all below a name."""
    address: str = "endpoint"
    """The setting that says what they reach instead."""
    any_host: bool = False
    """Whether its steps reach the addresses that functions and pages name."""
    scopes: tuple[str, ...] = ()
    """The least rights that its key needs, as its vendor calls them."""
    service: str = ""
    """The service that its steps call; empty if they run on the server."""
    key_source: str = ""
    """The page or the place where its key is made; empty if it needs no key."""

    @property
    def about(self) -> str:
        """The text for lists and panels: its summary, its service, and the source of its key."""
        if not self.service:
            return f"{self.summary} It runs on the server, and needs no key."
        return f"{self.summary} It calls {self.service}. {self.key_hint}"

    @property
    def key_hint(self) -> str:
        """The sentence that says where its key is made, with the rights that the key needs."""
        if not self.key_source:
            return ""
        place = self.key_source if self.key_source.startswith("https") else f"in {self.key_source}"
        place = f"at {place}" if place == self.key_source else place
        rights = f" Rights: {', '.join(self.scopes)}." if self.scopes else ""
        return f"Its key is made {place}.{rights}"

    @property
    def needs_config(self) -> tuple[str, ...]:
        """The keys of `config` that must be there."""
        fields = self.config.model_fields
        return tuple(f.alias or name for name, f in fields.items() if f.is_required())

    @property
    def probe(self) -> Probe | None:
        """What tests its connection; its own file in `bbops.runtime.vendors` may have it."""
        name = next((name for name, one in kinds().items() if one is self), "")
        return find_probe(name)

    @property
    def writes(self) -> tuple[str, ...]:
        """The steps that write, by their names behind the dot."""
        return tuple(name for name, one in self.actions.items() if one.writes)

    @property
    def secrets(self) -> frozenset[str]:
        """The keys of `config` that hold secrets."""
        fields = self.config.model_fields
        return frozenset(f.alias or name for name, f in fields.items() if is_secret(f))


def kind(addon: str) -> AddonKind | None:
    """Return the addon of that id; imports its file only."""
    return _kind(addon) if addon.isascii() and addon.isalpha() else None


@cache
def _kind(addon: str) -> AddonKind | None:
    module = f"bbops.language.addons.{file_name(addon)}"
    try:
        return cast("AddonKind", importlib.import_module(module).ADDON)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        return None


def kinds() -> dict[str, AddonKind]:
    """Return every addon by its id; the first call imports them all."""
    return {name: module.ADDON for name, module in members("bbops.language.addons")}


class AddonStep(Step):
    """A step that an addon does."""

    id: ClassVar[str]
    action: ClassVar[Action]

    @classmethod
    def is_supported(cls) -> bool:
        """Return whether this version does the step."""
        addon, _, action = cls.id.partition(".")
        return action in find_steps(addon)

    @property
    def given(self) -> dict[str, Value]:
        """The values of the parameters that are given, by their names."""
        held = getattr(self, _FIELD)
        found = {one.name: getattr(held, one.field) for one in self.action.parameters}
        return {name: value for name, value in found.items() if value is not None}

    def check(self, at: Checking) -> Type:
        given = self.given
        for parameter in self.action.parameters:
            if parameter.name in given:
                self.check_parameter(at, parameter, given[parameter.name])
        wanted = self.action.one_of
        if wanted and not given.keys() & set(wanted):
            names = " or ".join(f"'{name}'" for name in wanted)
            at.report(None, "missing-key", f"{names} is missing")
        return self.action.gives

    def check_parameter(self, at: Checking, parameter: Parameter, value: Value) -> None:
        """Report a value of another type, or a constant that is none of the options."""
        name, place = parameter.name, self.place(parameter.name)
        null = parameter.nullable or not parameter.required
        of = at.need(value, parameter.takes, f"'{name}'", place, null=null)
        if parameter.is_content and of.kind == "map" and of.fields and "path" not in of.fields:
            message = f"a file of the run has a 'path', '{name}' has none"
            at.report(place, "bad-value", message, "such as '${ input.photo }'")
        check_constant(at, parameter, value, place)

    def repeats(self) -> bool:
        """Return whether the vendor may be asked twice."""
        return self.action.repeat != "no"

    def terms(self) -> tuple[bool, float, int, float]:
        """Return the fields of `Terms`."""
        own = seconds(self.timeout) if self.timeout else 0.0
        action = self.action
        seconds_ = max(action.seconds, own)
        return self.repeats(), seconds_, action.most_bytes, action.per_second

    def is_streamed(self) -> bool:
        """Return whether its vendor answers piece by piece where that is wanted."""
        return self.action.streams

    def stream_seconds(self) -> float:
        """Return how long its vendor may take for all pieces."""
        return seconds(self.timeout) if self.timeout else self.action.seconds

    def stream_code(self, flow: Flow, name: str) -> list[ast.stmt]:
        """Return the code that begins the step, and keeps what comes piece by piece as `name`."""
        action = self.action
        terms = self.repeats(), self.stream_seconds(), action.most_bytes, action.per_second
        begun = flow.expression(
            "await begin(run, step, parameters, read, terms, line)",
            begin="bbops.runtime.steps.addons:begin_stream",
            step=ast.Constant(self.id), parameters=self.parameters_code(flow),
            terms=flow.constant("bbops.runtime.steps.addons:Terms", *terms),
            read=self.reader_code(flow), line=self.line(flow),
        )  # fmt: skip
        code: list[ast.stmt] = [ast.Assign([ast.Name(name, ast.Store())], begun)]
        return flow.placed(self.again(flow, code), self.mark)

    def whole_code(self, flow: Flow) -> list[ast.stmt]:
        """Draw the key of a request before the attempts: each of them has the same."""
        code = super().whole_code(flow)
        if self.action.repeat != "key":
            return code
        return [*flow.run(f"{_KEY} = host.random.uuid()", host=flow.root("host")), *code]

    def code(self, flow: Flow) -> list[ast.stmt]:
        has_files = any(
            (one.is_file or one.is_content) and one.name in self.given
            for one in self.action.parameters
        )
        called = flow.expression(
            "await call_addon(run, step, parameters, read, folder, terms, key)",
            call_addon="bbops.runtime.steps.addons:call_addon",
            step=ast.Constant(self.id),
            folder=flow.root("folder") if has_files else ast.Constant(None),
            parameters=self.parameters_code(flow),
            terms=flow.constant("bbops.runtime.steps.addons:Terms", *self.terms()),
            key=load(_KEY) if self.action.repeat == "key" else ast.Constant(""),
            read=self.reader_code(flow),
        )
        return flow.store(self.as_, called)

    def parameters_code(self, flow: Flow) -> ast.expr:
        """Return the code of the parameters that are given."""
        given = {
            one.name: _code(flow, one, self.given[one.name])
            for one in self.action.parameters if one.name in self.given
        }  # fmt: skip
        for one in self.action.parameters:
            if one.is_body and one.name not in given:
                request = flow.root("request")
                given[one.name] = flow.expression("request.get('body')", request=request)
        return ast.Dict([ast.Constant(name) for name in given], [*given.values()])

    def reader_code(self, flow: Flow) -> ast.expr:
        """Return the code of what makes the vendor's answer a value of the step's type."""
        spec = spec_of(self.action.gives)
        return flow.constant("bbops.runtime.steps.addons:make_reader", self.id, spec)


_FIELD = "parameters_"
_KEY = "key_"
"""The variable of compiled code that holds the key of a request."""


def _code(flow: Flow, parameter: Parameter, value: Value) -> ast.expr:
    """Return the code of a value; in markup, text from outside is escaped."""
    if parameter.is_html:
        return flow.html(value)
    if parameter.is_chat:
        return flow.html(value, "bbops.runtime.vendors._parts:escape_chat")
    return flow.value(value)


@cache
def step_kind(key: str) -> type[Step] | None:
    """Return the step kind `<addonId>.<step>`; None where the addon or its step does not exist."""
    addon, _, name = key.partition(".")
    found = kind(addon)
    action = found.actions.get(name) if found else None
    return _make(key, found.title, action) if found and action else None


def step_keys(addon: str = "") -> list[str]:
    """Return the keys of an addon's steps, or of all addons'."""
    one = kind(addon)
    found = {addon: one} if one else kinds()
    return [f"{name}.{step}" for name, of in found.items() for step in of.actions]


def _make(key: str, addon_title: str, action: Action) -> type[Step]:
    name = key.replace(".", "_")
    fields: dict[str, Any] = {
        one.field: (
            ValueField if one.required else ValueField | None,
            Field(
                default=... if one.required else None,
                alias=one.name, description=one.description or None,
            ),
        ) for one in action.parameters
    }  # fmt: skip
    parameters = create_model(
        f"{name}_parameters", __base__=Model, __doc__=action.summary, **fields
    )
    held: Any = (Annotated[parameters, BeforeValidator(_no_parameters)], Field(alias=key))
    step = create_model(name, __base__=AddonStep, __doc__=action.summary, **{_FIELD: held})
    step.id, step.action = key, action
    step.run_by = module_of(key.partition(".")[0])
    step.title = f"{addon_title}: {action.title}"
    step.examples = (Example(action.title, action.example),)
    return step


def _no_parameters(data: Any) -> Any:
    """`email.x:` with nothing behind it has no parameters."""
    return {} if data is None else data


_SPECS = {"text": "string", "any": "json"}


def spec_of(of: Type) -> dict[str, Any]:
    """Return the field spec that gives values of a type, see `bbops.runtime.values.shapes`."""
    found: dict[str, Any] = {
        "type": _SPECS.get(of.kind, of.kind), "nullable": of.nullable, "optional": of.nullable,
    }  # fmt: skip
    if of.item is not None:
        found["items"] = spec_of(of.item)
    if of.kind == "map":
        found["type"] = "object" if of.fields else "json"
        if of.fields:
            found["fields"] = {name: spec_of(field) for name, field in of.fields.items()}
    return found


add_steps(Added(step_kind, step_keys))
