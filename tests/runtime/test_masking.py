"""What is written down of a path holds no secret, and everything else."""

from __future__ import annotations

from urllib.parse import unquote

import pytest

from bbops.runtime.flow.masking import Mask, is_secret, mask_text

ROUTES = ("/reset/:token", "/hooks/:id/:apiKey/run", "/notes/:id", "/plain", "/:secret_key")
MASKED = Mask(["a-long-secret", "short", None])
for each in ROUTES:
    MASKED.add(each)


def shown(route: str, raw: str) -> str:
    return MASKED(route, {"path": unquote(raw), "raw_path": raw.encode()})


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("token", True), ("resetToken", True), ("api_key", True), ("apiKey", True), ("key", True),
        ("SECRET", True), ("userPassword", True), ("id", False), ("monkey", False),
        ("tokenizer", False), ("keyboard", False),
    ],
)  # fmt: skip
def test_a_parameter_is_secret_by_a_word_of_its_name(name: str, secret: bool) -> None:
    assert is_secret(name) is secret


@pytest.mark.parametrize(
    ("route", "raw", "path"),
    [
        ("/reset/:token", "/reset/abc", "/reset/***"),
        ("/reset/:token", "/reset/a%2Fbc", "/reset/***"),
        ("/hooks/:id/:apiKey/run", "/hooks/7/k%2F1/run", "/hooks/7/***/run"),
        ("/notes/:id", "/notes/7", "/notes/7"),
        ("/notes/:id", "/notes/a-long-secret", "/notes/***"),
        ("/notes/:id", "/notes/%61-long-secret", "/notes/***"),
        ("/notes/:id", "/notes/short", "/notes/short"),
        ("/plain", "/plain", "/plain"),
        ("", "/reset/abc", "/reset/***"),
        ("", "/reset/abc/", "/reset/***/"),
        ("", "/hooks/7/k/run", "/hooks/7/***/run"),
        ("", "/hooks/7/k/stop", "/hooks/7/k/stop"),
        ("", "/nothing/a-long-secret/x", "/nothing/***/x"),
    ],
)
def test_the_path_is_shown_without_its_secrets(route: str, raw: str, path: str) -> None:
    assert shown(route, raw) == path


def test_a_value_holds_no_secret_wherever_it_stands() -> None:
    value = {"url": "https://a/a-long-secret/x", "texts": ["a-long-secret", "short", 7]}
    assert MASKED.value(value) == {"url": "https://a/***/x", "texts": ["***", "short", 7]}


LONG = "a1B2" * 10


@pytest.mark.parametrize("key", [
    f"sk_live_{LONG}", f"rk_live_{LONG}", f"ghs_{LONG}", f"github_pat_{LONG}", f"xapp-1-{LONG}",
    f"xoxe-{LONG}", f"shpat_{LONG}", f"ntn_{LONG}", f"sb_secret_{LONG}", f"whsec_{LONG}",
    f"pat-eu1-{LONG}", f"SG.{LONG}.{LONG}", "AKIA" + "A1B2" * 4,
])  # fmt: skip
def test_a_vendors_key_is_masked_wherever_it_stands(key: str) -> None:
    assert mask_text(f"the key '{key}', said somebody") == "the key '***', said somebody"


@pytest.mark.parametrize("address", [
    f"https://discord.com/api/webhooks/123456789012345678/{LONG}",
    f"https://hooks.slack.com/services/T1/B1/{LONG}",
])  # fmt: skip
def test_the_secret_part_of_a_webhooks_address_is_masked(address: str) -> None:
    assert LONG not in mask_text(address)


@pytest.mark.parametrize("text", [
    "pat-smith-and-company-ltd", "SG.x.y", "a ghost_of_christmas_past_x", "AKIAB",
    "/webhooks/readers/of-the-blog-of-ada",
])  # fmt: skip
def test_what_only_looks_a_little_like_a_key_stays(text: str) -> None:
    assert mask_text(text) == text
