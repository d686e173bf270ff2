"""A store's app gets tokens for its id and secret: once for all, and anew when one has ended."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bbops.compiler.testing.host import fake_host
from bbops.language.addons.store import Config
from bbops.runtime.values.failures import HttpFailure
from bbops.runtime.vendors import _credentials
from bbops.runtime.vendors._work import AddonFailure, Terms, Work
from bbops.runtime.vendors.store import STEPS
from bbops.runtime.work.durable import _JobHttp
from bbops_server.process.host.egress import EgressPolicy
from bbops_server.process.host.http import OutsideHttp
from tests.vendors.stand_in import Answer, StandIn

TOKEN = "canary-of-a-token"
GIVEN = Answer(200, {"access_token": TOKEN, "scope": "read_products", "expires_in": 86_399})
FOUND = Answer(200, {"products": []})


@pytest.fixture(autouse=True)
def nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_credentials, "_kept", {})


def ask(there: StandIn, *, times: int = 1, wrap: Any = None, **change: str) -> list[Any]:
    """Ask for products so often at once; return what came, or how it failed."""

    async def main() -> list[Any]:
        http: Any = OutsideHttp(EgressPolicy(["127.0.0.1"]))
        host = fake_host(None, http=wrap(http) if wrap else http)  # type: ignore[arg-type]
        config = {
            "storeDomain": "acme.myshopify.com", "clientId": "app", "clientSecret": "secret",
            "endpoint": there.url, **change,
        }  # fmt: skip
        work = Work("store", host, config, None, Terms(repeats=True))
        every = (STEPS["getProducts"](work, {}) for _ in range(times))
        try:
            return await asyncio.gather(*every, return_exceptions=True)
        finally:
            await http.close()

    return asyncio.run(main())


def paths(there: StandIn) -> list[str]:
    return [one.path.rpartition("/")[2] for one in there.asked]


def test_a_token_is_got_once_and_kept() -> None:
    with StandIn(GIVEN, FOUND) as there:
        assert ask(there, times=5) == [[]] * 5
        assert ask(there) == [[]]
        assert paths(there) == ["access_token"] + ["products.json"] * 6
        first, *others = there.asked
        assert sorted(first.body) == [
            ("client_id", "app"), ("client_secret", "secret"), ("grant_type", "client_credentials"),
        ]  # fmt: skip
        assert {one.headers["x-shopify-access-token"] for one in others} == {TOKEN}


def test_another_app_has_another_token() -> None:
    with StandIn(GIVEN, FOUND, GIVEN, FOUND) as there:
        ask(there)
        ask(there, clientSecret="another")
        assert paths(there) == ["access_token", "products.json"] * 2


def test_a_token_that_is_refused_is_got_anew_once() -> None:
    with StandIn(GIVEN, Answer(401, {"errors": "no"}), GIVEN, FOUND) as there:
        assert ask(there) == [[]]
        assert paths(there) == ["access_token", "products.json"] * 2
    with StandIn(
        GIVEN, Answer(401, {"errors": "no"}), GIVEN, Answer(401, {"errors": "no"})
    ) as there:
        (failure,) = ask(there)
        assert isinstance(failure, HttpFailure)
        assert (failure.answered, len(there.asked)) == (401, 4)


def test_one_that_is_over_is_got_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    with StandIn(GIVEN, FOUND, GIVEN, FOUND) as there:
        ask(there)
        late = _credentials.monotonic() + 86_399 - 3_599
        monkeypatch.setattr(_credentials, "monotonic", lambda: late)
        ask(there)
        assert paths(there) == ["access_token", "products.json"] * 2


@pytest.mark.parametrize(("answer", "kind", "said"), [
    (Answer(400, {"error": "invalid_client", "error_description": "Unknown app"}), HttpFailure,
     "Unknown app"),
    (Answer(200, {"access_token": ""}), AddonFailure, "no 'access_token'"),
    (Answer(200, {"access_token": 7}), AddonFailure, "no 'access_token'"),
    (Answer(200, "<html>"), AddonFailure, "no 'access_token'"),
    (Answer(302, {}, {"location": "http://localhost:1/"}), HttpFailure, "moved"),
    (Answer(breaks="reset"), HttpFailure, "cannot be reached"),
])  # fmt: skip
def test_without_a_token_the_step_fails_and_says_why(
    answer: Answer, kind: type[Exception], said: str
) -> None:
    with StandIn(answer) as there:
        (failure,) = ask(there)
        assert isinstance(failure, kind)
        assert said in str(failure)
        assert "secret" not in str(failure)
        assert {*paths(there)} == {"access_token"}


class Recorder:
    """Fake record of a job, which must not contain the request for a token."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    async def request(self, send: Any) -> Any:
        response = await send()
        self.seen.append(response)
        return response


def test_a_job_records_no_token() -> None:
    recorder = Recorder()
    with StandIn(GIVEN, FOUND) as there:
        assert ask(there, wrap=lambda http: _JobHttp(http, recorder)) == [[]]  # type: ignore[arg-type]
        assert len(there.asked) == 2
    assert len(recorder.seen) == 1
    assert TOKEN not in str(recorder.seen)


def test_a_store_needs_one_way_in() -> None:
    key = "${ env.A }"
    for config in ({}, {"clientId": "a"}, {"clientSecret": key},
                   {"accessToken": key, "clientId": "a"}):  # fmt: skip
        with pytest.raises(ValueError, match="expected 'accessToken', or 'clientId'"):
            Config.model_validate({"storeDomain": "a.b.c", **config})
    pair = {"clientId": "a", "clientSecret": key}
    for config in ({"accessToken": key}, pair, {"accessToken": key, **pair}):
        Config.model_validate({"storeDomain": "a.b.c", **config})
