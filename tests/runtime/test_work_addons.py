"""A job asks through an own addon once, and no token that it fetched on the way is recorded."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from bbops.base.host import Host, HttpRequest, HttpResponse
from bbops.runtime.vendors._declared import link_own
from bbops.runtime.vendors._work import Work as Step
from bbops.runtime.work.durable import durable_host
from bbops.runtime.work.run_record import RunRecord
from tests.support.work_bench import Bench, Work, bench, job, place

__all__ = ["bench", "place"]

TOKEN = "t-0k3n"
OWN: dict[str, Any] = {
    "address": "https://api.example.com", "is_mcp": False, "headers": {},
    "auth": {"clientCredentials": {
        "tokenUrl": "https://api.example.com/token", "clientId": "id", "clientSecret": "secret",
        "scopes": [],
    }},
    "steps": {"pay": {
        "shape": {}, "places": {}, "settings": {}, "method": "POST", "path": "/pay",
        "encoding": "json", "lists": "repeat", "key": "Idempotency-Key", "graphql": "",
    }},
}  # fmt: skip
CONFIG = {"id": "me", "secret": "s3cret"}


class Vendor:
    """A server that gives tokens, and counts payments."""

    def __init__(self) -> None:
        self.asked = list[str]()

    async def send(self, request: HttpRequest) -> HttpResponse:
        """Answer a request."""
        path = request.url.removeprefix("https://api.example.com")
        self.asked.append(path)
        if path == "/token":
            return HttpResponse(200, {}, f'{{"access_token": "{TOKEN}"}}'.encode())
        assert request.headers["authorization"] == f"Bearer {TOKEN}"
        return HttpResponse(200, {}, b'{"paid": true}')

    def now(self) -> datetime:
        """Return a moment."""
        return datetime(2026, 1, 1, tzinfo=UTC)


async def pay(on: Bench, vendor: Vendor, recorded: RunRecord, steps: Any) -> Any:
    """Run the step as a job does."""
    host = Host(vendor, vendor, on.database, vendor, http=vendor)  # type: ignore[arg-type]
    recorded.begin()
    recorded.enter("0")
    work = Step("own", durable_host(host, recorded), CONFIG, None, key="k")
    paid = await steps["pay"](work, {})
    await recorded.accept()  # as `call_addon` does
    return paid


def test_another_attempt_takes_the_answer_from_the_record(bench: Callable[[Work], None]) -> None:
    async def work(on: Bench) -> None:
        vendor, steps = Vendor(), link_own(OWN)
        await on.enqueue(job("a"))
        claim = (await on.claim())["a"]
        first = await pay(on, vendor, RunRecord(on.engine, claim, {}), steps)
        known = await on.engine.steps(claim)
        again = await pay(on, vendor, RunRecord(on.engine, claim, known), steps)
        assert first == again == {"paid": True}
        assert vendor.asked == ["/token", "/pay"]
        assert TOKEN not in str(known)

    bench(work)


def test_a_token_is_fetched_once_while_it_lasts(bench: Callable[[Work], None]) -> None:
    async def work(on: Bench) -> None:
        vendor, steps = Vendor(), link_own(OWN)
        for name in ("a", "b"):
            await on.enqueue(job(name))
        for claim in (await on.claim()).values():
            await pay(on, vendor, RunRecord(on.engine, claim, {}), steps)
        assert vendor.asked == ["/token", "/pay", "/pay"]

    bench(work)
