"""A database whose process dies behind one of its commits, for tests of what jobs recover."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class KilledError(BaseException):
    """The process ends here."""


class Mortal:
    """A database whose process ends behind its nth commit."""

    def __init__(self, door: Any, commits: int) -> None:
        self.door, self.left = door, commits

    def __getattr__(self, name: str) -> Any:
        return getattr(self.door, name)

    def count(self) -> None:
        self.left -= 1
        if self.left == 0:
            raise KilledError

    async def write(self, *given: Any, **more: Any) -> Any:
        found = await self.door.write(*given, **more)
        self.count()
        return found

    async def write_all(self, statements: Sequence[Any], **more: Any) -> Any:
        found = await self.door.write_all(statements, **more)
        self.count()
        return found

    def transaction(self) -> Any:
        return _Transaction(self)


class _Transaction:
    def __init__(self, mortal: Mortal) -> None:
        self.mortal, self.inner = mortal, mortal.door.transaction()

    async def __aenter__(self) -> Any:
        return await self.inner.__aenter__()

    async def __aexit__(self, *given: object) -> None:
        await self.inner.__aexit__(*given)
        if given[0] is None:
            self.mortal.count()
