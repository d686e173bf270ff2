"""No feature is accepted and does nothing: `python -m tests.support.features` prints the table."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from bbops.compiler.compile import agents, work
from bbops.interfaces.lsp.hover import NOT_YET, about_key
from bbops.language.loading.load import kinds
from bbops.language.resources.channel import Channel
from bbops.language.resources.function import Function
from bbops.language.resources.trigger import Trigger
from bbops.language.steps._base import find_step_kind, step_kinds
from tests.conftest import ROOT
from tests.support.features import (
    Feature,
    features,
    key_features,
    kind_features,
    step_features,
    table,
    without_webhooks,
)


def test_nothing_is_accepted_that_does_nothing() -> None:
    rows = features()
    assert [str(one) for one in rows if one.is_silent] == [], table(rows)


def test_what_is_told_of_does_not_run() -> None:
    rows = [*kind_features(), *step_features()]
    assert [str(one) for one in rows if one.speaks and one.runs] == []


def test_every_kind_step_and_key_of_the_pages_is_in_the_table() -> None:
    rows = features()
    known = {one.name.rpartition(".")[2] for one in rows} | {"description", "bbops", "name"}
    shown = {key for path in (ROOT / "docs/language").rglob("*.md") for key in keys_of(path)}
    assert len(shown) > 100
    assert shown <= known
    assert {one.name for one in rows} >= {*filter(None, kinds()), *step_kinds()}


def keys_of(page: Path) -> list[str]:
    """Return the keys that the tables of a page list."""
    tables = re.findall(r"^\| key \|.*\n((?:\|.*\n)+)", page.read_text(), re.MULTILINE)
    return re.findall(r"^\| `(\w+)` \|", "".join(tables), re.MULTILINE)


# ---- it can fail
def silent(rows: list[Feature]) -> set[str]:
    return {one.name for one in rows if one.is_silent}


def test_a_kind_that_claims_to_run_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (agents, work):
        monkeypatch.setattr(module, "enabled_agents", lambda _: iter(()))
    assert silent([*kind_features()]) == {"agents"}


def test_a_key_that_nothing_reads_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(Channel.model_fields, "input", Function.model_fields["input"])
    assert silent([*key_features()]) == {"Channel.input"}


def test_an_editor_says_of_a_key_what_validate_says(monkeypatch: pytest.MonkeyPatch) -> None:
    without_webhooks(monkeypatch)
    assert about_key(Trigger, "webhook").endswith(NOT_YET)
    assert NOT_YET not in about_key(Function, "output")
    monkeypatch.setitem(sys.modules, "bbops.runtime.vendors.email", None)
    kind = find_step_kind("email.sendEmail")
    assert kind is not None
    assert about_key(kind, "email.sendEmail").partition("\n")[0].endswith(NOT_YET)
