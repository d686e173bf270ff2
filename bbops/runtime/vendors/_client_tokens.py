"""Tokens that a vendor gives for an id and a secret (RFC 6749 section 4.4): kept, and got once.

They are no part of what a job does: got through the door itself, they stand in no record, and a
job that runs again needs no other number of requests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from hashlib import blake2b
from time import monotonic
from typing import Any, Final
from urllib.parse import urlencode

from bbops.base.host import Http, HttpRequest
from bbops.runtime.values.outside import send
from bbops.runtime.vendors._work import AddonFailure, ReadRefusal, Work, read_json

EARLY_SECONDS: Final = 3_600.0
"""So long before its end a token is got anew."""
_LEAST_SECONDS: Final = 60.0
_MOST_KEPT: Final = 1_000
_MOST_TEXT: Final = 4_096

_kept: dict[bytes, tuple[str, float]] = {}
_under_way: dict[tuple[int, bytes], asyncio.Task[str]] = {}


async def get_token(work: Work, url: str, form: Mapping[str, str], refusal: ReadRefusal) -> str:
    """Return a token; all who ask meanwhile wait for the same request.

    Args:
        work: the step that needs it.
        url: where the vendor gives it.
        form: the id and the secret among it.
        refusal: reads an answer that is not a good one.

    Raises:
        HttpFailure: there is none.
        AddonFailure: the answer holds none.
    """
    name = _name(url, form)
    found = _kept.get(name)
    if found is not None and monotonic() < found[1]:
        return found[0]
    key = id(asyncio.get_running_loop()), name
    task = _under_way.get(key)
    if task is None:
        task = _under_way[key] = asyncio.create_task(_fetch(work, url, form, refusal))
        task.add_done_callback(lambda _: _under_way.pop(key, None))
    return await asyncio.shield(task)


def forget_token(url: str, form: Mapping[str, str], token: str) -> None:
    """Get another one next time, where this is the one that is kept: the vendor refused it."""
    name = _name(url, form)
    if name in _kept and _kept[name][0] == token:
        del _kept[name]


async def _fetch(work: Work, url: str, form: Mapping[str, str], refusal: ReadRefusal) -> str:
    headers = {
        "content-type": "application/x-www-form-urlencoded", "accept": "application/json",
    }  # fmt: skip
    request = HttpRequest(
        "POST", url, headers, urlencode(form).encode(), work.terms.seconds, "none",
        most_bytes=work.terms.most_bytes,
    )  # fmt: skip
    answer = await send(_door(work.host.http), request, repeats=True)
    found = read_json(answer)
    if not 200 <= answer.status <= 299:
        raise work.failure(url, answer, refusal(answer, found))
    token = found.get("access_token") if isinstance(found, dict) else None
    if not isinstance(token, str) or not 0 < len(token) <= _MOST_TEXT:
        raise AddonFailure("addon-answer", "the vendor's answer has no 'access_token'")
    given: Any = found.get("expires_in")
    lasts = float(given) if isinstance(given, int) and 0 < given < 10**9 else 0.0
    if len(_kept) >= _MOST_KEPT:
        del _kept[next(iter(_kept))]
    _kept[_name(url, form)] = token, monotonic() + max(_LEAST_SECONDS, lasts - EARLY_SECONDS)
    return token


def _door(http: Http | None) -> Http | None:
    """Return the door itself, behind those that record or note what goes through."""
    while (inner := getattr(http, "door", None)) is not None:
        http = inner
    return http


def _name(url: str, form: Mapping[str, str]) -> bytes:
    return blake2b(repr((url, sorted(form.items()))).encode(), digest_size=16).digest()
