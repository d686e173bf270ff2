"""The parameters of an addon's step: their types, and their valid constants."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from pydantic.alias_generators import to_snake

from bbops.base.diagnostics import suggest
from bbops.language.expressions.values import Constant, MapValue, Value
from bbops.language.steps._base import Checking
from bbops.runtime.vendors._work import read_file_name
from bbops.source.yaml.document import Mark

_UNKNOWN: Final = object()


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a step.

    Attributes:
        takes: words of `any text number integer boolean list map`; a space means "or".
        options: the allowed values, for a check of constants.
        limits: the smallest and the largest number.
        is_html: text from expressions is escaped in it.
        is_chat: it is the markup of a chat, in which `<!channel>` calls everybody: text from
            expressions is escaped in it.
        nullable: null differs from leaving the parameter out.
        is_file: files in the folder of the run, by their names.
        is_body: if it is left out, the body of the request takes its place.
        is_content: a map is a file of the run, by its `path`.
        read: raises ValueError with the message for a constant that can never be valid.
    """

    name: str
    takes: str
    required: bool
    description: str = ""
    options: tuple[str, ...] = ()
    limits: tuple[float, float] | None = None
    is_html: bool = False
    is_chat: bool = False
    nullable: bool = False
    is_file: bool = False
    is_body: bool = False
    is_content: bool = False
    read: Callable[[Any], object] | None = None

    @property
    def field(self) -> str:
        """The name of the model's field."""
        return f"{to_snake(self.name)}_"  # `schema` and `copy` are words of pydantic


def need(name: str, takes: str = "text", description: str = "", **more: Any) -> Parameter:
    """Return a required parameter that does not accept null."""
    return Parameter(name, takes, required=True, description=description, **more)


def may(name: str, takes: str = "text", description: str = "", **more: Any) -> Parameter:
    """Return an optional parameter; null leaves it out."""
    return Parameter(name, takes, required=False, description=description, **more)


def run_file(name: str) -> Parameter:
    """Return a parameter for a file of the run: an upload, or the result of an earlier step."""
    return Parameter(
        name, "text", required=True, description="A file of this run", is_file=True,
        read=read_file_name,
    )  # fmt: skip


def check_constant(at: Checking, parameter: Parameter, value: Value, place: Mark | None) -> None:
    """Report a constant that is not an option, or can never be valid."""
    name, place, constant = parameter.name, value.mark or place, constant_of(value)
    if constant is _UNKNOWN or constant is None:
        return
    if parameter.options and constant not in parameter.options:
        options = ", ".join(parameter.options)
        at.report(
            place, "bad-value", f"'{name}' is one of {options}, got '{constant}'",
            suggest(str(constant), parameter.options),
        )  # fmt: skip
    if parameter.limits is not None and isinstance(constant, int | float):
        least, most = parameter.limits
        if not least <= constant <= most:
            at.report(
                place, "bad-value", f"'{name}' is from {least:g} to {most:g}, got {constant}"
            )  # fmt: skip
    if parameter.read is not None and isinstance(constant, str | dict):
        try:
            parameter.read(constant)
        except ValueError as error:
            at.report(place, "bad-value", f"'{name}' cannot be used: {error}")


def constant_of(value: Value) -> Any:
    """Return a constant value; for a map its constant parts, else the marker for unknown."""
    if isinstance(value, Constant):
        return value.value
    if isinstance(value, MapValue):
        found = {name: constant_of(item) for name, item in value.items}
        return {name: constant for name, constant in found.items() if constant is not _UNKNOWN}
    return _UNKNOWN


MAIL: Final = (
    need("to", "text list", "An address, or a list of them"),
    need("subject"),
    may("html", "text", "Text from expressions is escaped", is_html=True),
    may("text"),
    may(
        "attachments",
        "list",
        "Files of this run, as paths or maps of `path`, `name`, `contentType`",
        is_file=True,
    ),
    may("separately", "boolean", "A mail for each: they do not see each other"),
)
"""The parameters of a mail, for every addon that sends mails."""
