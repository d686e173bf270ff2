"""Each step asks its vendor what the vendor's own library asks, and gives what it declares."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

from bbops.language.addons._base import kinds
from bbops.runtime.vendors import find_steps, module_of
from tests.vendors.scenario import Scenario, Vendor, every_scenario, returning, vendors
from tests.vendors.stand_in import Answer, StandIn

pytestmark = pytest.mark.long

OTHERS = {
    "imageProcessing": "it asks nobody", "objectStorage": "held against moto and botocore",
    "localStorage": "it asks nobody", "htmlToPdf": "what it asks is anybody's page",
    "smtpMail": "held against aiosmtpd",
}  # fmt: skip
"""Addons without scenarios, and why."""


@pytest.mark.parametrize(
    ("vendor", "scenario"), every_scenario(), ids=[one.step[:60] for _, one in every_scenario()]
)
def test_a_step_asks_what_the_vendors_own_library_asks(
    tmp_path: Path, vendor: Vendor, scenario: Scenario
) -> None:
    with StandIn(*scenario.answers) as stand_in:
        reply = vendor.asked(tmp_path, returning(scenario.step), stand_in.url).ask()
        ours = [vendor.parts(one) for one in stand_in.asked]
    with StandIn(*scenario.answers) as stand_in:
        scenario.library(stand_in.url)
        theirs = [vendor.parts(one) for one in stand_in.asked]
    assert reply.status == 200, reply.body
    assert reply.json == scenario.gives
    different = {
        name: (one[name], other[name])
        for one, other in zip(ours, theirs, strict=True) for name in one
        if one[name] != other[name]
    }  # fmt: skip
    assert different.keys() == scenario.differs.keys(), different


@pytest.mark.parametrize("vendor", vendors().values(), ids=vendors())
def test_an_error_fails_the_step_in_the_vendors_words(tmp_path: Path, vendor: Vendor) -> None:
    step = vendor.scenarios[0].step
    function = (
        f"steps:\n  - try:\n      - {step}\n    catch:\n      - return:\n"
        "          value: ['${ error.code }', '${ error.status }', '${ error.reason }',"
        " '${ error.message }']\n"
    )
    with StandIn(Answer(vendor.status, vendor.refusal)) as stand_in:
        found = vendor.asked(tmp_path, function, stand_in.url).ask().json
    code, status, reason, message = found
    assert (code, reason) == ("httpFailed", vendor.reason)
    assert message == f"'127.0.0.1' answered {status}: {vendor.words}"
    assert status in {vendor.status, vendor.means}


def test_every_setting_is_read_by_what_does_the_steps() -> None:
    for addon, kind in kinds().items():
        if find_steps(addon):
            source = Path(str(import_module(module_of(addon)).__file__)).read_text()
            keys = {one.alias or name for name, one in kind.config.model_fields.items()}
            unread = {key for key in keys if not re.search(rf"['\"]{key}['\"]", source)}
            assert not unread - {"endpoint"}, addon
            assert "endpoint" not in unread or "work.address(" in source, addon


def test_every_step_that_runs_has_a_scenario() -> None:
    for addon, kind in kinds().items():
        runs = find_steps(addon)
        if not runs or addon in OTHERS:
            continue
        vendor = vendors()[addon]
        named = {one.name.partition(".")[2] for one in vendor.scenarios}
        assert named | set(vendor.offline) == runs.keys() == kind.actions.keys()
