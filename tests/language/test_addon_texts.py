"""Each addon names its service and its key's source, and has a text of its own per setting."""

from __future__ import annotations

from collections import Counter

import pytest

from bbops.language.addons._base import AddonKind, kinds
from tests.conftest import ROOT

ADDONS = kinds()
ON_THE_SERVER = {"htmlToPdf", "imageProcessing", "localStorage"}
TEXTS = {
    (addon, field.alias or name): field.description or ""
    for addon, kind in ADDONS.items()
    for name, field in kind.config.model_fields.items()
}


def test_every_addon_that_calls_a_service_names_it_and_the_source_of_its_key() -> None:
    assert {name for name, kind in ADDONS.items() if not kind.service} == ON_THE_SERVER
    assert {name for name, kind in ADDONS.items() if not kind.key_source} == ON_THE_SERVER
    assert {name for name, kind in ADDONS.items() if kind.hosts and not kind.service} == set()


@pytest.mark.parametrize(("name", "kind"), ADDONS.items(), ids=ADDONS)
def test_the_page_of_an_addon_says_what_its_panel_says(name: str, kind: AddonKind) -> None:
    assert kind.about in (ROOT / f"docs/language/addons/{name}.md").read_text()


def test_every_setting_has_a_text() -> None:
    assert [key for key, text in TEXTS.items() if not text.endswith(".")] == []


def test_settings_of_one_name_have_texts_of_their_own() -> None:
    shared = {text for text, count in Counter(TEXTS.values()).items() if count > 1}
    assert shared == {"The name that mails come from."}


def test_the_endpoint_of_an_addon_is_not_the_storage_of_another() -> None:
    assert TEXTS["email", "endpoint"] == (
        "SendGrid in Europe, `https://api.eu.sendgrid.com`, or a stand-in."
    )
    about_storage = {addon for (addon, key), text in TEXTS.items()
                     if key == "endpoint" and "storage" in text}  # fmt: skip
    assert about_storage == {"objectStorage"}
