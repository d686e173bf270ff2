"""What a database says of rows that have changed, and what a trigger's function sees of it.

SQL triggers write it into the outbox, in the transaction of the change. It holds only the columns
that some trigger reads.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from bbops.runtime.values.failures import FlowError

Operation = Literal["insert", "update", "delete"]
OPERATIONS: Final[tuple[Operation, ...]] = ("insert", "update", "delete")

_MARK: Final = ":"
"""Stands in no name of an event that somebody may emit."""

BEGINS: Final = '{"trigger":'
"""How the payload of a job begins that holds rows."""


def row_event(table: str, operation: Operation) -> str:
    """Return the name under which a change is in the outbox."""
    return f"{table}{_MARK}{operation}"


def table_of(name: str) -> str:
    """Return the table that such an event is about."""
    return name.partition(_MARK)[0]


def is_row_event(name: str) -> bool:
    """Return whether an event is about a changed row."""
    return _MARK in name


@dataclass(frozen=True, slots=True)
class ReadRows:
    """Reads rows out of what SQL triggers wrote.

    Attributes:
        decoders: of the columns that are wanted, what makes a value of one in JSON; None where
            it is one already.
    """

    decoders: Mapping[str, Callable[[Any], Any] | None]

    def __call__(self, payload: str) -> dict[str, Any]:
        """Return `trigger` as a function sees it, of a job's payload.

        Raises:
            FlowError: a column had another type when the row changed.
        """
        found = json.loads(payload)["trigger"]
        return {name: self._row(found.get(name)) for name in ("newRow", "oldRow")}

    def _row(self, parts: list[Mapping[str, Any]] | None) -> dict[str, Any] | None:
        if parts is None:
            return None
        found = {key: one for part in parts for key, one in part.items()}
        return {name: _decode(name, found.get(name), how) for name, how in self.decoders.items()}


def _decode(name: str, value: Any, how: Callable[[Any], Any] | None) -> Any:
    if how is None:
        return value
    try:
        return how(value)
    except (TypeError, ValueError, ArithmeticError):
        message = f"column '{name}' had another type when the row changed"
        raise FlowError(message) from None


def job_of_rows(payload: str) -> str:
    """Return the payload of a job about rows, of what SQL triggers wrote."""
    return f"{BEGINS}{payload}}}"
