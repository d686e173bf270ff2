"""Pages of rows: `find` with `after`.

A cursor holds the last row's values of everything that orders the rows. So a page costs the same
wherever it begins, and rows that come or go move no other row to another page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bbops.runtime.data.cursors import KEY_VARIABLE, Value, read_cursor, write_cursor
from bbops.runtime.data.orders import CUT, Key, Order, OrderBy, Sortable
from bbops.runtime.data.rows import bind
from bbops.runtime.values.failures import BadValue
from bbops.runtime.values.operators import kind

_MOST: Final = 1 << 32


@dataclass(frozen=True, slots=True)
class Page:
    """One page: what its statement needs, and what comes of the rows.

    Attributes:
        where: the condition that begins it, as SQL.
        parameters: those of the condition.
        most: how many rows to ask for; one more than the page has tells that another one follows.
    """

    by: Order
    signing: tuple[bytes, bytes]
    where: str
    parameters: list[Any]
    most: int

    @property
    def order(self) -> str:
        """The ORDER BY clause."""
        return self.by.clause

    @property
    def columns(self) -> str:
        """What the cursor is made of, as SQL; it is selected behind everything else."""
        return self.by.columns

    def split(self, rows: list[Any]) -> tuple[list[Any], str | None]:
        """Return the page's rows, and the cursor to the next page if there is one."""
        if len(rows) < self.most:
            return rows, None
        rows = rows[:-1]
        last = rows[-1][-len(self.by.keys) :]
        return rows, write_cursor(*self.signing, list(map(_shortened, self.by.keys, last)))


class Pages:
    """Makes the pages of one step."""

    __slots__ = ("context", "fixed", "orders", "words")

    def __init__(
        self,
        context: str,
        sortable: Mapping[str, Sortable],
        primary: Sequence[str],
        fixed: Sequence[tuple[str, bool]] | None,
        words: tuple[str, str] = ("1", "0"),
    ) -> None:
        """Take what makes a page.

        Args:
            context: names the step.
            fixed: its order; None where the request chooses.
            words: the conditions that always and never hold.
        """
        self.context, self.orders, self.words = context, OrderBy(sortable, primary), words
        self.fixed = None if fixed is None else self.orders.order(fixed)

    def sample(self) -> Page:
        """Return a page that is not the first one, to try its SQL."""
        by = self.fixed or self.orders.order(())
        where, parameters = self.behind(
            by.keys, [""] * len(by.keys), [""] * len(self.orders.primary)
        )
        return Page(by, (b"", b""), where, parameters, 1)

    def __call__(self, order: Any, cursor: Any, size: Any, env: Mapping[str, Any]) -> Page:
        """Return the page behind a cursor, for null the first one.

        Raises:
            Thrown: 400 `invalidCursor`; the cursor was changed, or is one of another list or order.
            FlowError: this is no order or no size.
        """
        by = self.fixed or self.orders.choose(order)
        if type(size) is not int or not 0 < size < _MOST:
            message = "'limit' of a page needs a whole number of at least 1"
            raise BadValue(f"{message}, got {kind(size)}", said=message)
        secret = str(env.get(KEY_VARIABLE) or "").encode()
        signing = (secret, f"{self.context}\0{by.clause}".encode())
        if cursor is None:
            return Page(by, signing, self.words[0], [], size + 1)
        values = read_cursor(*signing, cursor)
        named = {key.name: value for key, value in zip(by.keys, values, strict=True)}
        identity = [named[name] for name in self.orders.primary]
        where, parameters = self.behind(by.keys, values, identity)
        return Page(by, signing, where, parameters, size + 1)

    def behind(
        self, keys: Sequence[Key], values: Sequence[Value], identity: Sequence[Value]
    ) -> tuple[str, list[Any]]:
        return behind(keys, values, identity, never=self.words[1])


def behind(
    keys: Sequence[Key], values: Sequence[Value], identity: Sequence[Value], *, never: str
) -> tuple[str, list[Any]]:
    """Return the condition that holds for the rows behind one row, and its parameters.

    Args:
        values: that row's, of all keys.
        identity: its primary key.
        never: the condition that never holds.
    """
    key, others, value, more = keys[0], keys[1:], values[0], values[1:]
    rest, parameters = behind(others, more, identity, never=never) if others else (never, [])
    if value is None:  # nulls are last
        return f"({key.sql} IS NULL AND {rest})", parameters
    one: str = key.mark
    bound: list[Any] = [value]
    if isinstance(value, list):
        one, bound = key.again, [*identity, *value, *value, *value]
    beyond = f"{key.sql} {'<' if key.is_down else '>'} {one}"
    if not others:
        return f"({beyond} OR {key.sql} IS NULL)" if key.nullable else beyond, bound
    if key.nullable:
        text = f"({beyond} OR {key.sql} IS NULL OR ({key.sql} = {one} AND {rest}))"
    else:  # two conditions on the key, so that an index finds where the page begins
        least = f"{key.sql} {'<=' if key.is_down else '>='} {one}"
        text = f"({least} AND ({beyond} OR {rest}))"
    return text, [*bound, *bound, *parameters]


def _shortened(key: Key, value: Any) -> Value:
    is_long = key.again and type(value) is str and len(value) > CUT
    return [value[:CUT]] if is_long else bind(value)
