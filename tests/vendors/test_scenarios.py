"""Each step asks its vendor what the vendor's own library asks, and gives what it declares."""

from __future__ import annotations

from pathlib import Path

import pytest

from bbops.language.addons._base import kinds
from bbops.runtime.vendors import find_steps
from tests.vendors.scenario import Scenario, Vendor, every_scenario, returning, vendors
from tests.vendors.stand_in import Answer, StandIn

OTHERS = {"imageProcessing": "it asks nobody", "objectStorage": "held against moto and botocore"}
"""Addons without scenarios, and why."""


@pytest.mark.parametrize(
    ("vendor", "scenario"), every_scenario(), ids=[one.step[:60] for _, one in every_scenario()]
)
def test_a_step_asks_what_the_vendors_own_library_asks(
    tmp_path: Path, vendor: Vendor, scenario: Scenario
) -> None:
    with StandIn(scenario.answer) as stand_in:
        reply = vendor.asked(tmp_path, returning(scenario.step), stand_in.url).ask()
        scenario.library(stand_in.url)
    assert reply.status == 200, reply.body
    assert reply.json == scenario.gives
    ours, theirs = map(vendor.parts, stand_in.asked)
    different = {name for name in ours if ours[name] != theirs[name]}
    assert different == scenario.differs.keys(), [(ours[name], theirs[name]) for name in different]


@pytest.mark.parametrize("vendor", vendors().values(), ids=vendors())
def test_an_error_fails_the_step_in_the_vendors_words(tmp_path: Path, vendor: Vendor) -> None:
    step = vendor.scenarios[0].step
    function = (
        f"steps:\n  - try:\n      - {step}\n    catch:\n      - return:\n"
        "          value: ['${ error.code }', '${ error.status }', '${ error.reason }',"
        " '${ error.message }']\n"
    )
    with StandIn(Answer(402, vendor.refusal)) as stand_in:
        found = vendor.asked(tmp_path, function, stand_in.url).ask().json
    words = f"'127.0.0.1' answered 402: {vendor.words}"
    assert found == ["httpFailed", 402, vendor.reason, words]


def test_every_step_that_runs_has_a_scenario() -> None:
    for addon, kind in kinds().items():
        runs = find_steps(addon)
        if not runs or addon in OTHERS:
            continue
        vendor = vendors()[addon]
        named = {one.name.partition(".")[2] for one in vendor.scenarios}
        assert named | set(vendor.offline) == runs.keys() == kind.actions.keys()
