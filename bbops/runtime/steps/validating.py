"""What compiled code calls for the step `validate`."""

from __future__ import annotations

from typing import Any

from bbops.runtime.flow.run import Shape
from bbops.runtime.values.failures import InvalidInput


def validated(check: Shape, value: Any) -> dict[str, Any]:
    """Return a value as its shape describes it: typed, with defaults, without other fields.

    Raises:
        InvalidInput: listing every wrong field.
    """
    errors: dict[str, list[str]] = {}
    typed = check(value, "", errors)
    if errors:
        raise InvalidInput(errors, "a value does not have the expected form")
    return typed
