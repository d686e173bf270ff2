"""Each request of a step is one that its vendor's description allows, and it can be refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bbops.language.addons._base import kinds
from bbops.runtime.vendors import find_steps
from tests.vendors.descriptions import FILES, WITHOUT, WRONG, find
from tests.vendors.scenario import Scenario, Vendor, every_scenario, returning
from tests.vendors.stand_in import Request, StandIn

pytestmark = pytest.mark.long

JUDGED = [(vendor, one) for vendor, one in every_scenario() if vendor.addon in FILES]
IDS = [one.step[:60] for _, one in JUDGED]


def requests(box: Path, vendor: Vendor, scenario: Scenario) -> list[Request]:
    with StandIn(*scenario.answers) as there:
        reply = vendor.asked(box, returning(scenario.step), there.url).ask()
    assert reply.status == 200, reply.body
    return there.asked


@pytest.mark.parametrize(("vendor", "scenario"), JUDGED, ids=IDS)
def test_a_request_is_one_that_the_vendor_describes(
    tmp_path: Path, vendor: Vendor, scenario: Scenario
) -> None:
    word, _ = WRONG.get(scenario.name, ("", ""))
    for request in requests(tmp_path, vendor, scenario):
        operation = find(vendor.addon, request)
        assert operation is not None, f"{request.method} {request.path}"
        found = [*operation.mistakes(request)]
        assert [one for one in found if not word or word not in one] == []


def spoilt(request: Request) -> Iterator[Request]:
    """Yield requests with one thing wrong: a field is missing, or something else."""
    body = request.body
    if isinstance(body, dict):
        for name in body:
            yield replace(request, body={key: one for key, one in body.items() if key != name})
            for wrong in ({"wrong": [1]}, "wrong", 7, {"id": 7}):
                yield replace(request, body={**body, name: wrong})
    elif isinstance(body, list):
        for at, (name, _) in enumerate(body):
            yield replace(request, body=[*body[:at], *body[at + 1 :]])
            for wrong in ((name, "x" * 6_000), (f"{name}[wrong]", "x")):
                yield replace(request, body=[*body[:at], wrong, *body[at + 1 :]])
    yield replace(request, query=[*request.query, ("misspelt", "x")])


@pytest.mark.parametrize(("vendor", "scenario"), JUDGED, ids=IDS)
def test_a_request_that_is_wrong_is_refused(
    tmp_path: Path, vendor: Vendor, scenario: Scenario
) -> None:
    """Of each operation: a judge who lets everything pass would be none."""
    for request in requests(tmp_path, vendor, scenario):
        operation = find(vendor.addon, request)
        assert operation is not None
        right = {*operation.mistakes(request)}
        refused = [one for one in spoilt(request) if {*operation.mistakes(one)} - right]
        has_body: Any = request.body
        assert len(refused) >= (2 if has_body else 1), request


def test_every_addon_that_runs_is_judged_or_says_why_not() -> None:
    running = {name for name in kinds() if find_steps(name)}
    assert running - FILES.keys() - WITHOUT.keys() == set()
    assert WRONG.keys() <= {one.name for _, one in JUDGED}
