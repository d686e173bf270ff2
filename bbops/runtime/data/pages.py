"""Pages of rows: `find` with `after`, the order of rows, and signed cursors.

A cursor holds the last row's values of everything that orders the rows. So a page costs the same
wherever it begins, and rows that come or go move no other row to another page.
"""

from __future__ import annotations

import hmac
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from bbops.runtime.data.rows import bind
from bbops.runtime.values.failures import BadValue, FlowError, Thrown
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


KEY_VARIABLE: Final = "BBOPS_CURSOR_KEY"
"""The env variable with what cursors are signed with; a server makes its value once."""
MAX_CURSOR: Final = 4_000
"""Characters of a cursor."""
_MAC_BYTES: Final = 12

Value = int | float | str | list[str] | None
"""A value of a row as it is stored; a list holds the beginning of a text that was too long."""

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[Value]).decode


def write_cursor(key: bytes, context: bytes, values: Sequence[Value]) -> str:
    """Return a cursor that only this context takes.

    Raises:
        FlowError: it would be longer than MAX_CURSOR.
    """
    data = _encode(values)
    found = urlsafe_b64encode(_sign(key, context, data) + data).decode().rstrip("=")
    if len(found) > MAX_CURSOR:
        raise FlowError("the values that order the rows are too long for a cursor")
    return found


def read_cursor(key: bytes, context: bytes, cursor: Any) -> list[Value]:
    """Return the values in a cursor.

    Raises:
        Thrown: 400 `invalidCursor`; it was not made by `write_cursor` with this key and context.
    """
    if type(cursor) is str and len(cursor) <= MAX_CURSOR and cursor.isascii():
        try:
            data = b64decode(cursor + "=" * (-len(cursor) % 4), b"-_", validate=True)
        except ValueError:
            data = b""
        signature, data = data[:_MAC_BYTES], data[_MAC_BYTES:]
        if hmac.compare_digest(signature, _sign(key, context, data)):
            return _decode(data)
    raise Thrown(400, "the cursor does not belong to this list", code="invalidCursor")


def _sign(key: bytes, context: bytes, data: bytes) -> bytes:
    return hmac.digest(key, len(context).to_bytes(4) + context + data, "sha256")[:_MAC_BYTES]


CUT: Final = 100
"""Characters of a text that a cursor holds; of a longer one the rest is read from its row again."""

Sortable = tuple[str, bool, str, str, str, str]
"""What rows may be ordered by: a `Key` without its name and direction."""


@dataclass(frozen=True, slots=True)
class Key:
    """One part of an order. Null comes last in both directions.

    Attributes:
        name: as it stands before `.desc`.
        again: reads a long text from its row once more, by the primary key and the text's
            beginning, which it also takes in place of a row that is gone; empty where values
            are short.
        mark: the parameter for a value that a cursor keeps.
        up, down: what stands behind the SQL in ORDER BY.
    """

    name: str
    sql: str
    nullable: bool
    again: str
    mark: str
    up: str
    down: str
    is_down: bool

    def __str__(self) -> str:
        return self.sql + (self.down if self.is_down else self.up)


@dataclass(frozen=True, slots=True)
class Order:
    """A whole order: its parts, and the SQL of them.

    Attributes:
        clause: what stands behind ORDER BY.
        columns: what is ordered by, to be selected.
    """

    keys: tuple[Key, ...]
    clause: str
    columns: str


class OrderBy:
    """`orderBy` of one step: makes its order, or the one that a request asks for."""

    __slots__ = ("chosen", "primary", "sortable")

    def __init__(self, sortable: Mapping[str, Sortable], primary: Sequence[str]) -> None:
        """Args: `sortable` by the name that stands before `.desc`; it holds all of `primary`."""
        self.sortable, self.primary = sortable, primary
        self.chosen: dict[str, Order] = {}

    def __call__(self, value: Any) -> str:
        """Return the ORDER BY clause of a request's value; raises as `choose`."""
        return self.choose(value).clause

    def choose(self, value: Any) -> Order:
        """Return the order that a request's `name.desc` asks for.

        Raises:
            FlowError: it is no name with `.asc` or `.desc` behind it.
        """
        found = self.chosen.get(value) if type(value) is str else None
        if found is None:
            name, _, direction = value.rpartition(".") if type(value) is str else ("", "", "")
            if name not in self.sortable or direction not in {"asc", "desc"}:
                raise BadValue("'orderBy' needs a column followed by '.asc' or '.desc'")
            found = self.chosen[value] = self.order([(name, direction == "desc")])
        return found

    def order(self, parts: Sequence[tuple[str, bool]]) -> Order:
        """Return the whole order of (name, is_down) parts.

        It ends with the primary key, in the direction of the last part, so that pages are stable.
        """
        used, is_down = {name for name, _ in parts}, bool(parts and parts[-1][1])
        whole = [*parts, *((name, is_down) for name in self.primary if name not in used)]
        keys = tuple(Key(name, *self.sortable[name], is_down) for name, is_down in whole)
        return Order(keys, ", ".join(map(str, keys)), ", ".join(key.sql for key in keys))
