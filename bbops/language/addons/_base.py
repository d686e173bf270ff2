"""The declaration of an addon, and the step kinds that are made from it.

Dropping a file into `bbops/language/addons/` is the whole registration: its name is the addon's
id, and the ids of its steps begin with it. The code of the steps is in the file of the same name in
`bbops/runtime/vendors/`. The steps of an addon that is disabled or absent validate like any
others; they fail when they run.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, cast, get_args

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints, create_model
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

from bbops.base.model import Model
from bbops.base.names import EnvReference, env_name
from bbops.base.registry import file_name, members
from bbops.language.addons._parameters import Parameter, check_constant, may, need, run_file
from bbops.language.expressions.emit import load
from bbops.language.expressions.types import Type
from bbops.language.expressions.values import Value, ValueField
from bbops.language.steps._base import Added, Checking, Example, Step, add_steps
from bbops.language.steps._flow import Flow
from bbops.runtime.values.units import seconds
from bbops.runtime.vendors import find_probe, find_steps, module_of
from bbops.runtime.vendors._probe import Probe
from bbops.runtime.vendors._work import MOST_ANSWER_BYTES, TIMEOUT_SECONDS

__all__ = [
    "AddonAction",
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
class AddonAction:
    """One step of an addon.

    Attributes:
        title: the name in the catalog.
        parameters: the parameters, in the order in which they are shown.
        gives: the type of the result.
        example: one step as YAML; it validates in a project that has the addon.
        one_of: parameters of which at least one must be given.
        repeat: whether the step is idempotent: `safe`; `key`, if the vendor recognizes a repeated
            request by a key; `no`, if `retry` repeats only requests that were never sent.
        seconds: the longest time for an answer; the `timeout` of a step may be longer.
        most_bytes: the largest size of an answer.
        per_second: the requests that the vendor accepts from one account; 0 for no limit here.
        streams: whether the vendor can stream its answer.
        writes: whether the step changes data outside of this run, or sends data to a person.
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
        config: the model of `config` in addons/<id>.yaml; a field of type Secret is a secret.
        config_example: an example of `config` as YAML.
        actions: the steps by their names after the dot.
    """

    title: str
    summary: str
    config: type[Model]
    actions: Mapping[str, AddonAction]
    config_example: str = ""
    hosts: tuple[str, ...] = ()
    """The hosts of its steps if `endpoint` is not set; `*.` matches all names below a domain."""
    address: str = "endpoint"
    """The setting that replaces the hosts."""
    any_host: bool = False
    """Whether its steps reach the addresses that functions and pages name."""
    scopes: tuple[str, ...] = ()
    """The least permissions that its key needs, in the vendor's terms."""
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
        """The sentence that names the source of its key and the permissions that the key needs."""
        if not self.key_source:
            return ""
        place = self.key_source if self.key_source.startswith("https") else f"in {self.key_source}"
        place = f"at {place}" if place == self.key_source else place
        rights = f" Rights: {', '.join(self.scopes)}." if self.scopes else ""
        return f"Its key is made {place}.{rights}"

    @property
    def needs_config(self) -> tuple[str, ...]:
        """The required keys of `config`."""
        fields = self.config.model_fields
        return tuple(f.alias or name for name, f in fields.items() if f.is_required())

    @property
    def probe(self) -> Probe | None:
        """The test of its connection; its own file in `bbops.runtime.vendors` may define one."""
        name = next((name for name, declared in kinds().items() if declared is self), "")
        return find_probe(name)

    @property
    def writes(self) -> tuple[str, ...]:
        """The steps that write, by their names after the dot."""
        return tuple(name for name, action in self.actions.items() if action.writes)

    @property
    def secrets(self) -> frozenset[str]:
        """The keys of `config` that hold secrets."""
        fields = self.config.model_fields
        return frozenset(f.alias or name for name, f in fields.items() if is_secret(f))


def kind(addon: str) -> AddonKind | None:
    """Return the addon with this id; imports only its file."""
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
    """Return every addon by its id; the first call imports all of them."""
    return {name: module.ADDON for name, module in members("bbops.language.addons")}


class AddonStep(Step):
    """A step of an addon."""

    id: ClassVar[str]
    action: ClassVar[AddonAction]

    @classmethod
    def is_supported(cls) -> bool:
        """Return whether this version supports the step."""
        addon, _, action = cls.id.partition(".")
        return action in find_steps(addon)

    @property
    def given(self) -> dict[str, Value]:
        """The values of the given parameters, by their names."""
        held = getattr(self, _FIELD)
        found = {
            parameter.name: getattr(held, parameter.field) for parameter in self.action.parameters
        }
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
        """Report a value of another type, or a constant that is not an option."""
        name, place = parameter.name, self.place(parameter.name)
        null = parameter.nullable or not parameter.required
        of = at.need(value, parameter.takes, f"'{name}'", place, null=null)
        if parameter.is_content and of.kind == "map" and of.fields and "path" not in of.fields:
            message = f"a file of the run has a 'path', '{name}' has none"
            at.report(place, "bad-value", message, "such as '${ input.photo }'")
        check_constant(at, parameter, value, place)

    def repeats(self) -> bool:
        """Return whether the request may be sent twice."""
        return self.action.repeat != "no"

    def terms(self) -> tuple[bool, float, int, float]:
        """Return the fields of `Terms`."""
        own = seconds(self.timeout) if self.timeout else 0.0
        action = self.action
        seconds_ = max(action.seconds, own)
        return self.repeats(), seconds_, action.most_bytes, action.per_second

    def is_streamed(self) -> bool:
        """Return whether the vendor streams the answer of this step."""
        return self.action.streams

    def stream_seconds(self) -> float:
        """Return how long the vendor may take for the whole stream."""
        return seconds(self.timeout) if self.timeout else self.action.seconds

    def stream_code(self, flow: Flow, name: str) -> list[ast.stmt]:
        """Return the code that begins the step and stores its stream as `name`."""
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
        """Draw the key of the request before the attempts, so that all attempts share it."""
        code = super().whole_code(flow)
        if self.action.repeat != "key":
            return code
        return [*flow.run(f"{_KEY} = host.random.uuid()", host=flow.root("host")), *code]

    def code(self, flow: Flow) -> list[ast.stmt]:
        has_files = any(
            (parameter.is_file or parameter.is_content) and parameter.name in self.given
            for parameter in self.action.parameters
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
        """Return the code of the given parameters."""
        given = {
            parameter.name: _code(flow, parameter, self.given[parameter.name])
            for parameter in self.action.parameters if parameter.name in self.given
        }  # fmt: skip
        for parameter in self.action.parameters:
            if parameter.is_body and parameter.name not in given:
                request = flow.root("request")
                given[parameter.name] = flow.expression("request.get('body')", request=request)
        return ast.Dict([ast.Constant(name) for name in given], [*given.values()])

    def reader_code(self, flow: Flow) -> ast.expr:
        """Return the code that converts the vendor's answer to a value of the step's type."""
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
    """Return the step kind `<addonId>.<step>`; None if the addon or its step does not exist."""
    addon, _, name = key.partition(".")
    found = kind(addon)
    action = found.actions.get(name) if found else None
    return _make(key, found.title, action) if found and action else None


def step_keys(addon: str = "") -> list[str]:
    """Return the keys of the steps of an addon, or of all addons."""
    declared = kind(addon)
    found = {addon: declared} if declared else kinds()
    return [f"{name}.{step}" for name, of in found.items() for step in of.actions]


def _make(key: str, addon_title: str, action: AddonAction) -> type[Step]:
    name = key.replace(".", "_")
    fields: dict[str, Any] = {
        parameter.field: (
            ValueField if parameter.required else ValueField | None,
            Field(
                default=... if parameter.required else None,
                alias=parameter.name, description=parameter.description or None,
            ),
        ) for parameter in action.parameters
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
    """Accept `email.x:` with an empty value as a step without parameters."""
    return {} if data is None else data


_SPECS = {"text": "string", "any": "json"}


def spec_of(of: Type) -> dict[str, Any]:
    """Return the field spec for values of a type, see `bbops.runtime.values.shapes`."""
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


# ---- The settings of an addon: text, or values of the environment that never stand in git

Secret = EnvReference
"""A value that stands in the server's store, never in git."""
_SECRET = get_args(EnvReference)[1]


def check_setting(text: str) -> str:
    """Return a setting as it is; refuse text with a `${` that is not exactly an env value."""
    if "${" in text and not env_name(text):
        raise PydanticCustomError(
            "static", "a setting is text, or exactly '${ env.NAME }'",
        )  # fmt: skip
    return text


Setting = Annotated[
    str, StringConstraints(min_length=1, max_length=500), AfterValidator(check_setting)
]
"""A value that may stand in git, or be `${ env.NAME }` too."""


def is_secret(of: FieldInfo) -> bool:
    """Return whether a setting takes only a variable of the environment."""
    inner = (getattr(part, "__metadata__", ()) for part in get_args(of.annotation))
    rules = [*of.metadata, *(rule for part in inner for rule in part)]
    return any(isinstance(rule, StringConstraints) and rule == _SECRET for rule in rules)
