"""Ask an API what was asked before."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import httpx

from bbops.errors import ServerError
from bbops.replay.comparing import Difference, Sent, compare
from bbops.replay.recorded import Recorded

TIMEOUT_SECONDS: Final = 40.0
WAKING_SECONDS: Final = 60.0
"""How long a draft that sleeps is waited for."""


def replay(
    url: str, recorded: Iterable[Recorded], headers: Mapping[str, str]
) -> Iterator[tuple[Recorded, list[Difference]]]:
    """Yield each request that can be asked, with what is different in its answer now.

    Args:
        url: of the API; paths stand behind it.
        recorded: what to ask, in this order.
        headers: what lets into it.

    Raises:
        ServerError: nobody answers there.
    """
    with httpx.Client(timeout=TIMEOUT_SECONDS, headers=dict(headers), trust_env=False) as client:
        client.headers.pop("accept", None)
        for one in recorded:
            if not one.obstacle:
                yield one, compare(one, _ask(client, url, one))


def _ask(client: httpx.Client, url: str, one: Recorded) -> Sent:
    until = time.monotonic() + WAKING_SECONDS
    while True:
        try:
            answer = client.request(
                one.method, url.rstrip("/") + one.target, headers=one.headers,
                content=one.body.encode() or None,
            )  # fmt: skip
        except httpx.TransportError as error:
            reason = str(error) or type(error).__name__
            raise ServerError(f"cannot reach '{url}': {reason}") from None
        is_waking = answer.status_code == httpx.codes.SERVICE_UNAVAILABLE != one.status
        if not (is_waking and "retry-after" in answer.headers and time.monotonic() < until):
            return Sent(answer.status_code, answer.content)
        time.sleep(1)
