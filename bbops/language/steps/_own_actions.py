"""What a step in a function has to know of its file in addons/<addon>/."""

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
        parameters: their types; one that may be left out is `absent`.
        shape: the same as plain data, see `bbops.runtime.values.shapes`.
        gives: the type of the result, and `spec` the same as plain data.
        repeat: whether it may be done twice: `safe`, `key` or `no`.
        seconds: how long an answer may take.
    """

    title: str
    parameters: Mapping[str, Type]
    shape: Mapping[str, Any]
    gives: Type
    spec: Mapping[str, Any]
    repeat: Repeat
    seconds: float

    def may_lack(self, name: str) -> bool:
        """Return whether a parameter may be left out."""
        spec = self.shape[name]
        return bool(spec["optional"]) or "default" in spec
