"""The declaration of a project's own step in addons/<addon>/, for its uses in functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from bbops.language.expressions.types import Type

Repeat = Literal["safe", "key", "no"]


@dataclass(frozen=True, slots=True)
class OwnAction:
    """One step of an addon of the project's own.

    Attributes:
        parameters: the types of the parameters; an optional one is `absent`.
        shape: the parameters as plain data, see `bbops.runtime.values.shapes`.
        gives: the type of the result; `spec` is its plain data.
        repeat: whether the step may be repeated: `safe`, `key` or `no`.
        seconds: the longest time for an answer.
    """

    title: str
    parameters: Mapping[str, Type]
    shape: Mapping[str, Any]
    gives: Type
    spec: Mapping[str, Any]
    repeat: Repeat
    seconds: float

    def may_lack(self, name: str) -> bool:
        """Return whether a parameter is optional."""
        spec = self.shape[name]
        return bool(spec["optional"]) or "default" in spec
