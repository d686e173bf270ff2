"""The settings of an addon: text, or values of the environment that never stand in git."""

from __future__ import annotations

from typing import Annotated, get_args

from pydantic import AfterValidator, StringConstraints
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

from bbops.base.names import EnvReference, env_name

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
