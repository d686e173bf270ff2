"""When each API key was used last: held in memory, and written down now and then."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

from bbops.base.errors import BbopsError
from bbops.runtime.values.failures import Failure

_WRITE: Final = (
    "INSERT INTO _bbops_api_key_uses (id, used_at) VALUES (?, ?) ON CONFLICT (id) DO UPDATE"
    " SET used_at = excluded.used_at WHERE excluded.used_at > _bbops_api_key_uses.used_at"
)


class KeyUses:
    """The uses of one project's keys in one process since they were written down last.

    A request pays for one entry in a map; the entries are as many as keys are in use.
    """

    def __init__(self) -> None:
        self._noted: dict[str, float] = {}

    def note(self, key: str, at: float) -> None:
        """Remember that a key was used; `at` in seconds since 1970."""
        self._noted[key] = at

    async def write_down(self, database: Any) -> None:
        """Write down what was noted; a later use that another process has told stays.

        What cannot be written now stays noted, for the next time.
        """
        if not self._noted:
            return
        noted = dict(self._noted)
        with suppress(Failure, BbopsError):
            await database.write_all([(_WRITE, one) for one in noted.items()])
            self._noted = dict(self._noted.items() - noted.items())
