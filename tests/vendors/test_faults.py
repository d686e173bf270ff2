"""What each step makes of a vendor's faults: how it fails, and how often it has asked.

Every row is run with `retry: { attempts: 3 }`. A step that may not be done twice asks again only
where the vendor has said, or it is certain, that nothing was done.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from bbops.language.addons._base import kinds
from tests.vendors.faults import FAULTS
from tests.vendors.scenario import CANARY, Scenario, Vendor, every_scenario, vendors
from tests.vendors.stand_in import Answer, StandIn

pytestmark = pytest.mark.long


FUNCTION = """
steps:
  - try:
      - STEP
        retry: { attempts: 3, backoff: 1ms }
        timeout: TIMEOUT
    catch:
      - log: { message: "${ error.message }" }
      - return: { value: ['${ error.code }', '${ error.status }', '${ error.message }'] }
  - return: { value: [none, 200, ''] }
"""


@contextmanager
def nobody() -> Iterator[str]:
    """Give an address where nobody listens."""
    with StandIn() as gone:
        url = gone.url
    yield url


@pytest.mark.parametrize(
    ("vendor", "scenario"), every_scenario(), ids=[one.step[:60] for _, one in every_scenario()]
)
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_fails_the_step_and_nothing_is_done_twice(
    tmp_path: Path, vendor: Vendor, scenario: Scenario, name: str
) -> None:
    fault = FAULTS[name]
    function = FUNCTION.replace("STEP", scenario.step)
    addon, _, step = scenario.name.partition(".")
    action = kinds()[addon].actions[step]
    short = "1s" if action.per_second else f"{vendor.seconds * 1_000:.0f}ms"  # a turn is waited for
    function = function.replace("TIMEOUT", short if name == "silent" else "20s")
    with StandIn(fault.answer) as stand_in:
        project = vendor.asked(tmp_path, function, stand_in.url)
        code, status, message = project.ask().json
    repeats = action.repeat != "no"
    assert f"{code} {status}" == fault.code, message
    is_read = stand_in.asked[0].method == "GET"  # it follows within its origin, to an end
    asked = 6 if name == "moved" and is_read else fault.asked[0 if repeats else 1]
    assert len(stand_in.asked) == scenario.counts.get(name, asked)
    assert len({vendor.own and one.headers[vendor.own[0]] for one in stand_in.asked}) == 1
    told = f"{message}{project.log}"
    assert CANARY not in told
    assert "key=x" not in told


@pytest.mark.parametrize(
    ("vendor", "scenario"), every_scenario(), ids=[one.step[:60] for _, one in every_scenario()]
)
def test_who_is_not_there_is_asked_again_by_every_step(
    tmp_path: Path, vendor: Vendor, scenario: Scenario
) -> None:
    function = FUNCTION.replace("STEP", scenario.step).replace("TIMEOUT", "20s")
    with nobody() as url:
        project = vendor.asked(tmp_path, function, url)
        code, _, _ = project.ask().json
    assert code == "httpUnreachable"
    assert project.http.count == 3


@pytest.mark.parametrize(
    ("vendor", "scenario"), every_scenario(), ids=[one.step[:60] for _, one in every_scenario()]
)
def test_an_answer_of_another_shape_is_no_surprise(
    tmp_path: Path, vendor: Vendor, scenario: Scenario
) -> None:
    function = FUNCTION.replace("STEP", scenario.step).replace("TIMEOUT", "20s")
    for at, answer in enumerate(of_another_shape(scenario)):
        (tmp_path / str(at)).mkdir()
        with StandIn(*answer) as stand_in:
            project = vendor.asked(tmp_path / str(at), function, stand_in.url)
            code, _, message = project.ask().json
        assert code in {"none", "addon-answer"}, message


def of_another_shape(scenario: Scenario) -> Iterator[list[Answer]]:
    """Yield the answers with another whole, or a number for one of the parts of one of them."""
    for at, good in enumerate(scenario.answers):
        parts = good.body if isinstance(good.body, dict) else {}
        for body in (5, [5], *({**parts, name: 5} for name in parts)):
            changed = [*scenario.answers]
            changed[at] = replace(good, body=body)
            yield changed


def test_a_pause_of_four_hundred_digits_is_a_day(tmp_path: Path) -> None:
    vendor = vendors()["chatWebhook"]
    function = FUNCTION.replace("STEP", vendor.scenarios[0].step).replace("TIMEOUT", "20s")
    function = function.replace("error.message }']", "error.retryAfter }']")
    with StandIn(Answer(429, {"retry_after": 10**400})) as stand_in:
        code, status, pause = vendor.asked(tmp_path, function, stand_in.url).ask().json
    assert (code, status, float(pause)) == ("httpFailed", 429, 86_400)
