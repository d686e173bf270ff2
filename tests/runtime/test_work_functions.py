"""Functions that jobs run: killed behind any commit they end as if they had never been."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bbops.base.host import HttpResponse
from bbops.compiler.testing.host import FakeHttp
from bbops.runtime.values.failures import PayloadFailure
from bbops.runtime.work.values import HeldError
from tests.support.mortal import KilledError
from tests.support.work_shop import FULFIL, Shop, run


async def to_its_end(shop: Shop, commits: int) -> tuple[Any, int]:
    tries = 1
    while not await shop.attempt(f"worker {tries}", commits if tries == 1 else 0):
        tries += 1
    assert [message for _, message, _ in shop.log.lines] == ["sent 7"]
    assert len(shop.http.sent) <= 6
    return await shop.lines_and_events(), tries


@pytest.mark.long
def test_a_function_killed_behind_any_commit_ends_alike(tmp_path: Path) -> None:
    (tmp_path / "whole").mkdir()
    whole, _ = run(tmp_path / "whole", lambda shop: to_its_end(shop, 0))
    texts, events = whole
    assert [one.partition(" ")[0] for one in texts] == [
        "round", "answer", "round", "answer", "first", "inside", "beside", "beside", "beside",
    ]  # fmt: skip
    assert [name for name, _ in events] == ["order.sent"]
    killed = 0
    for commits in range(1, 16):
        folder = tmp_path / str(commits)
        folder.mkdir()
        found, tries = run(folder, lambda shop, after=commits: to_its_end(shop, after))
        assert found == whole, commits
        killed += tries > 1
    assert killed >= 10


ASK = """
payload: { number: integer }
steps:
  - find: { table: lines }
    as: lines
  - http:
      method: POST
      url: https://shop.example.com/
      headers: { Idempotency-Key: "${ uuid() }" }
      body: { seen: "${ vars.lines | length }", at: "${ now() }" }
    as: answer
  - insert: { table: lines, data: { text: "answer ${ vars.answer.body.n }" } }
"""


class DiesOnce(FakeHttp):
    """Another server, in whose first call the process ends once it has been sent."""

    async def send(self, request: Any) -> HttpResponse:
        self.sent.append(request)
        if len(self.sent) == 1:
            raise KilledError
        return HttpResponse(200, {"content-type": "application/json"}, b'{"n":7,"id":"cus_1"}')


def test_a_request_that_is_sent_again_is_the_same_request(tmp_path: Path) -> None:
    async def do(shop: Shop) -> None:
        shop.http = DiesOnce()
        assert not await shop.attempt("one", 0, ASK)
        await shop.database.change("INSERT INTO lines (text) VALUES ('another')")
        assert await shop.attempt("two", 0, ASK)
        first, second = shop.http.sent
        assert (first.body, first.headers) == (second.body, second.headers)
        assert first.headers["idempotency-key"]
        assert (await shop.lines_and_events())[0] == ["another", "answer 7"]

    run(tmp_path, do)


PAY = """
payload: { number: integer }
steps:
  - loop:
      over: range(2)
      steps:
        - payments.createCustomer: { name: "customer ${ event.payload.number }" }
          as: customer
        - insert: { table: lines, data: { text: "${ vars.customer.id }" } }
"""


def test_a_step_of_an_addon_that_is_sent_again_has_the_key_it_had(tmp_path: Path) -> None:
    async def do(shop: Shop) -> None:
        shop.http = DiesOnce()
        assert not await shop.attempt("one", 0, PAY)
        assert await shop.attempt("two", 0, PAY)
        keys = [one.headers["idempotency-key"] for one in shop.http.sent]
        assert keys[0] == keys[1]
        assert keys[2] not in keys[:2]  # another round is another request
        assert (await shop.lines_and_events())[0] == ["cus_1", "cus_1"]

    run(tmp_path, do)


def test_a_job_whose_function_has_changed_since_it_began_is_held(tmp_path: Path) -> None:
    async def do(shop: Shop) -> None:
        assert not await shop.attempt("one", 2)
        with pytest.raises(HeldError, match="has changed since"):
            await shop.attempt("two", 0, FULFIL.replace("caught", "found"))
        assert await shop.attempt("three", 0)

    run(tmp_path, do)


def test_a_payload_that_does_not_fit_fails_with_the_field(tmp_path: Path) -> None:
    async def do(shop: Shop) -> None:
        await shop.database.change('UPDATE _bbops_outbox SET payload = \'{"number": "x"}\'')
        with pytest.raises(PayloadFailure, match="does not fit function 'fulfil': 'number'"):
            await shop.attempt("one", 0)

    run(tmp_path, do)
