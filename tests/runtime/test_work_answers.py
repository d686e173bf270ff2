"""Answers of other servers in the record of a job: accepted answers, and no refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from bbops.base.host import HttpResponse
from bbops.compiler.testing.host import FakeHttp
from bbops.runtime.values.failures import Failure, HttpFailure
from bbops.runtime.work.statements import emit
from tests.support.work_shop import Shop, run


def asking(retry: str = "", then: str = "") -> str:
    return f"""
payload: {{ number: integer }}
steps:
  - http:
      method: POST
      url: https://shop.example.com/
      headers: {{ Idempotency-Key: "${{ uuid() }}" }}
    as: answer
{retry}{then}  - insert: {{ table: lines, data: {{ text: "answer ${{ vars.answer.body.n }}" }} }}
"""


PAY = """
payload: { number: integer }
steps:
  - payments.createCustomer: { name: "customer ${ event.payload.number }" }
    as: customer
  - insert: { table: lines, data: { text: "${ vars.customer.id }" } }
"""
JSON = {"content-type": "application/json"}


class Answers(FakeHttp):
    """Another server that answers with these statuses in turn; 0 stands for a lost connection."""

    def __init__(self, *statuses: int) -> None:
        super().__init__({})
        self.statuses = list(statuses)

    async def send(self, request: Any) -> HttpResponse:
        self.sent.append(request)
        status = self.statuses.pop(0)
        if not status:
            raise HttpFailure("httpUnreachable", "it is away")
        return HttpResponse(status, JSON, b'{"n":%d,"id":"cus_1"}' % len(self.sent))

    @property
    def keys(self) -> list[str]:
        return [one.headers["idempotency-key"] for one in self.sent]


async def attempts(shop: Shop, function: str, most: int) -> int:
    """Run the job until it ends; return how many attempts failed."""
    for failed in range(most):
        try:
            assert await shop.attempt(f"worker {failed}", 0, function)
        except Failure:
            continue
        return failed
    return most


@pytest.mark.parametrize("function", [asking(), PAY], ids=["http", "addon"])
@pytest.mark.parametrize("refusal", [503, 500, 429, 400, 0])
def test_each_attempt_of_a_job_asks_again_with_the_same_key(
    tmp_path: Path, function: str, refusal: int
) -> None:
    async def do(shop: Shop) -> None:
        shop.http = http = Answers(refusal, refusal, 200)
        assert await attempts(shop, function, 4) == 2
        assert len(http.sent) == 3
        assert len({*http.keys}) == 1
        assert (await shop.lines_and_events())[0] in (["answer 3"], ["cus_1"])

    run(tmp_path, do)


def test_each_attempt_of_a_job_makes_all_the_attempts_of_its_step(tmp_path: Path) -> None:
    async def do(shop: Shop) -> None:
        shop.http = http = Answers(503, 0, 0, 503, 503, 200)
        function = asking("    retry: { attempts: 2, backoff: 1ms }\n")
        assert await attempts(shop, function, 4) == 2
        assert len(http.sent) == 6
        assert (await shop.lines_and_events())[0] == ["answer 6"]

    run(tmp_path, do)


def test_an_accepted_answer_is_not_asked_for_again_when_a_later_step_fails(tmp_path: Path) -> None:
    async def do(shop: Shop) -> None:
        shop.http = http = Answers(200, 503, 200)
        other = "  - http: { method: POST, url: https://shop.example.com/other }\n"
        assert await attempts(shop, asking(then=other), 3) == 1
        assert [one.url.rpartition("/")[2] for one in http.sent] == ["", "other", "other"]
        assert (await shop.lines_and_events())[0] == ["answer 1"]

    run(tmp_path, do)


CAUGHT = """
payload: { number: integer }
steps:
  - set: { answer: none }
  - try:
      - http: { method: POST, url: "https://shop.example.com/" }
      - set: { answer: good }
    catch:
      - set: { answer: "${ error.code }" }
  - insert: { table: lines, data: { text: "${ vars.answer }" } }
  - http: { method: POST, url: "https://shop.example.com/end" }
"""


@pytest.mark.parametrize(("refusal", "code"), [(503, "httpFailed"), (0, "httpUnreachable")])
def test_a_refusal_that_a_function_caught_is_decided(
    tmp_path: Path, refusal: int, code: str
) -> None:
    async def do(shop: Shop) -> None:
        shop.http = http = Answers(refusal, 503, 200)
        assert await attempts(shop, CAUGHT, 3) == 1
        assert [one.url.rpartition("/")[2] for one in http.sent] == ["", "end", "end"]
        assert (await shop.lines_and_events())[0] == [code]

    run(tmp_path, do)


BESIDE = """
payload: { number: integer }
steps:
  - parallel:
      left:
        - http: { method: POST, url: "https://shop.example.com/left" }
      right:
        - http: { method: POST, url: "https://shop.example.com/right" }
        - insert: { table: lines, data: { text: right } }
  - insert: { table: lines, data: { text: end } }
"""


class LeftAnswersSecond(FakeHttp):
    """A server that refuses `left` after `right` has its answer, and the first time only."""

    async def send(self, request: Any) -> HttpResponse:
        self.sent.append(request)
        is_first_left = request.url.endswith("left") and len(self.sent) <= 2
        return HttpResponse(503 if is_first_left else 200, JSON, b"{}")


def test_a_branch_that_is_refused_asks_again_and_its_neighbour_does_not(tmp_path: Path) -> None:
    async def do(shop: Shop) -> None:
        shop.http = http = LeftAnswersSecond({})
        assert await attempts(shop, BESIDE, 3) == 1
        left = [one for one in http.sent if one.url.endswith("left")]
        assert len(left) == 2
        assert sorted((await shop.lines_and_events())[0]) == ["end", "right"]

    run(tmp_path, do)


def test_each_attempt_of_a_job_begins_with_the_values_of_the_first(tmp_path: Path) -> None:
    async def do(shop: Shop) -> None:
        shop.http = http = Answers(503, 503, 503, 200)
        function = asking("    retry: { attempts: 2, backoff: 1ms }\n")
        assert await attempts(shop, function, 3) == 1
        assert http.keys[0] == http.keys[2]
        assert (await shop.lines_and_events())[0] == ["answer 4"]

    run(tmp_path, do)


def test_the_key_of_a_job_is_the_same_in_all_its_attempts_and_no_other_jobs(
    tmp_path: Path,
) -> None:
    async def do(shop: Shop) -> None:
        shop.http = http = Answers(503, 200, 200)
        function = asking().replace("uuid()", "job.key")
        function = function.replace("answer ${", "${ job.attempt } ${ job.id } ${")
        assert await attempts(shop, function, 3) == 1
        await shop.database.write_all([emit("order.paid", '{"number":8}', 0)])
        assert await attempts(shop, function, 3) == 0
        first, again, other = http.keys
        assert first == again != other
        assert str(UUID(first)) == first
        assert (await shop.lines_and_events())[0] == ["2 triggers/paid@1 2", "1 triggers/paid@2 3"]

    run(tmp_path, do)


def test_every_request_of_an_addon_has_the_key_of_its_step(tmp_path: Path) -> None:
    async def do(shop: Shop) -> None:
        shop.http = http = Answers(503, 0, 0, 200)
        retry = "    retry: { attempts: 2, backoff: 1ms }\n"
        function = PAY.replace("    as: customer\n", f"{retry}    as: customer\n")
        assert await attempts(shop, function, 3) == 1
        assert len({*http.keys}) == 1

    run(tmp_path, do)
