"""Run a request with an `Idempotency-Key` once: the same again has the answer that is kept.

What holds: the steps of a key begin at most once, unless they failed before anything was changed:
then the key is forgotten. Between a commit and the keeping of its answer the process may die, or
the request run out of time: nobody knows then what was done, and that is what is said of the key
until it is forgotten. An answer that is kept is never made again.

Source: draft-ietf-httpapi-idempotency-key-header-07.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Coroutine
from contextlib import suppress
from hashlib import sha256
from typing import Any, Final

import msgspec

from bbops.runtime.flow.run import Answer, Function, Run
from bbops.runtime.flow.write_tracking import noting
from bbops.runtime.http.headers import Parts, find_header
from bbops.runtime.http.responses import MAX_ANSWER, Answering
from bbops.runtime.values.failures import NOTHING, Failure, InvalidInput, Thrown
from bbops.runtime.values.values import check_size

KEPT_SECONDS: Final = 24 * 3600.0
REPLAYED: Final = "idempotency-replayed"
_GRACE_SECONDS: Final = 5.0
"""How long after its time a request may still be about to end."""
_KEY: Final = re.compile(
    rb'"([\x20\x21\x23-\x5b\x5d-\x7e]{1,255})"|([\x21\x23-\x7e]{1,255})'
).fullmatch
"""A text of structured fields, or what most clients send: the same without quotes."""

_FORGET_OLD: Final = "DELETE FROM _bbops_idempotency WHERE began_at < ?"
_CLAIM: Final = (
    "INSERT INTO _bbops_idempotency (id, request, began_at) VALUES (?, ?, ?)"
    " ON CONFLICT (id) DO NOTHING RETURNING id"
)
_FIND: Final = "SELECT request, began_at, answer FROM _bbops_idempotency WHERE id = ?"
_KEEP: Final = "UPDATE _bbops_idempotency SET answer = ? WHERE id = ?"
_GIVE_UP: Final = (
    "UPDATE _bbops_idempotency SET began_at = began_at - ? WHERE id = ? AND answer IS NULL"
)
_FORGET: Final = "DELETE FROM _bbops_idempotency WHERE id = ? AND answer IS NULL"

_encode = msgspec.json.Encoder(order="sorted").encode
_decode = msgspec.json.Decoder().decode
_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder(tuple[int, bytes, dict[str, str], str | None]).decode


class Once:
    """The steps of one endpoint, by key; made once per release."""

    def __init__(
        self, function: Function, route: str, timeout_seconds: float, answering: Answering
    ) -> None:
        """`route` is method and path: keys of different endpoints are different."""
        self._function, self._route, self._answering = function, route, answering
        self._lease_seconds = timeout_seconds + _GRACE_SECONDS
        self._ending: set[asyncio.Task[Any]] = set()

    async def run(self, run: Run, scope: Any) -> Answer:
        """Return the answer of the steps, or the one that is kept.

        Raises:
            Thrown: 409, the first request is under way, or was never heard of again; 422, it was
                another one.
            InvalidInput: the key is none.
            Exception: what the steps raise.
        """
        given = find_header(scope["headers"], b"idempotency-key")
        if not given:
            return await self._function.flow(run)
        id_, request = self._id(given, scope), _fingerprint(run, scope)
        database, now = run.host.database, run.host.clock.now().timestamp()
        _, claimed = await database.write_all([
            (_FORGET_OLD, (now - KEPT_SECONDS,)), (_CLAIM, (id_, request, now)),
        ])  # fmt: skip
        if not claimed:
            return await self._again(run, id_, request, now)
        return await self._first(run, scope, id_)

    def _id(self, given: bytes, scope: Any) -> str:
        found = _KEY(given.strip())
        if found is None:
            raise InvalidInput({}, "expected an Idempotency-Key of 1 to 255 printable characters")
        key = (found[1] or found[2]).decode()
        user = scope["bbops"].user  # None for nobody: a user may well be called 'None'
        whose = None if user is None else str(user)
        return sha256(_encode([self._route, whose, key])).hexdigest()

    async def _first(self, run: Run, scope: Any, id_: str) -> Answer:
        database = run.host.database
        run.host, touched = noting(run.host)
        try:
            answer = await self._function.flow(run)
            if self._function.unfolds:
                check_size(answer[1], MAX_ANSWER)
            kept = _kept(self._answering.render(answer))
        except BaseException as error:
            if not touched.is_so:
                await self._end(database.write(_FORGET, (id_,)))
            elif isinstance(error, Failure) and error.status < 500:
                kept = _kept(self._answering.failure(error, scope))
                await self._end(database.write(_KEEP, (kept, id_)))
            else:
                await self._end(database.write(_GIVE_UP, (self._lease_seconds + 1, id_)))
            raise
        await database.write(_KEEP, (kept, id_))
        return answer

    async def _end(self, write: Coroutine[Any, Any, Any]) -> None:
        """Write how it ended, also where nobody can wait for that: the request is cancelled."""
        task = asyncio.create_task(write)
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)
        with suppress(Failure):  # the request has failed, and says why
            await asyncio.shield(task)

    async def _again(self, run: Run, id_: str, request: str, now: float) -> Answer:
        rows = await run.host.database.read(_FIND, (id_,))
        if not rows:  # forgotten at this moment
            raise _under_way()
        first, began_at, answer = rows[0]
        if first != request:
            raise Thrown(422, "another request has used this Idempotency-Key", code="keyReused")
        if answer is not None:
            return _replayed(*_unpack(answer))
        if now - began_at < self._lease_seconds:
            raise _under_way()
        raise Thrown(
            409, "nobody knows whether the first request with this Idempotency-Key was carried out:"
            " look, and use another key", code="outcomeUnknown",
        )  # fmt: skip


def _replayed(status: int, body: bytes, headers: dict[str, str], kind: str | None) -> Answer:
    headers |= {REPLAYED: "true"}
    if kind == "application/json":  # a value again, for what follows the steps looks at it
        return status, _decode(body), headers, None
    return status, body if kind else NOTHING, headers, kind


def _under_way() -> Thrown:
    return Thrown(
        409, "the first request with this Idempotency-Key is still running",
        code="requestUnderWay", headers={"retry-after": "1"},
    )  # fmt: skip


def _fingerprint(run: Run, scope: Any) -> str:
    """Return what tells two requests apart: all values that the steps see, but the headers."""
    body = run.request.get("body", "") if run.request else ""
    try:
        seen = _encode([scope["path"], run.params, run.query, run.input, body])
    except (TypeError, ValueError, RecursionError) as error:
        raise Failure("the request cannot be written as JSON") from error
    return sha256(seen).hexdigest()


def _kept(parts: Parts) -> bytes:
    status, body, headers = parts
    named = {name.decode(): value.decode("latin-1") for name, value in headers}
    content_type = named.pop("content-type", None)
    return _pack((status, body, named, content_type))
