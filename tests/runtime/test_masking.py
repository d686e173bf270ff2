"""What is written down of a path holds no secret, and everything else."""

from __future__ import annotations

from urllib.parse import unquote

import pytest

from bbops.runtime.flow.masking import Mask, is_secret

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
