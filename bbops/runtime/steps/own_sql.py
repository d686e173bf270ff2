"""What compiled code calls for the step `sql`."""

from __future__ import annotations

from typing import Any

from bbops.runtime.data.rows import bind
from bbops.runtime.values.filters import FILTERS

_json = FILTERS["json"].apply


def bind_own(value: Any) -> Any:
    """Return a value as a parameter of an author's own statement; a list or map is its JSON."""
    return _json(value) if type(value) in {list, dict} else bind(value)
