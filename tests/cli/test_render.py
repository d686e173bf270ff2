"""The forms of diagnostics, and what may not pass through them."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbops.base.diagnostics import Diagnostic, Place
from bbops.base.render import FORMS, count, one_line, printable, render

pytestmark = pytest.mark.quick

ERROR = Diagnostic(Place("functions/a b.yaml", 3, 7), "unknown-key", "unknown key 'x'", "try 'y'")
WARNING = Diagnostic(Place("c.yaml"), "stray", "not read", severity="warning")


def test_text_ends_with_how_many() -> None:
    assert render([ERROR, ERROR, WARNING], "text").splitlines()[-3:] == [
        "    hint: try 'y'",
        "c.yaml:1:1: warning: not read [stray]",
        "2 errors, 1 warning",
    ]


def test_nothing_found_is_no_text_and_a_whole_document() -> None:
    assert render([], "text") == render([], "github") == ""
    assert json.loads(render([], "json")) == {"diagnostics": []}
    assert json.loads(render([], "sarif"))["runs"][0]["results"] == []


def test_json_is_exactly_the_documented_shape() -> None:
    assert json.loads(render([ERROR], "json", folder="sub")) == {
        "diagnostics": [
            {
                "severity": "error", "code": "unknown-key", "file": "functions/a b.yaml",
                "line": 3, "column": 7, "message": "unknown key 'x'", "hint": "try 'y'",
            }
        ]
    }  # fmt: skip


def test_github_escapes_messages_and_properties() -> None:
    odd = Diagnostic(Place("a,b:c%.yaml", 1, 2), "x", "100% sure\r\n::error::no")
    assert render([odd], "github") == (
        "::error file=a%2Cb%3Ac%25.yaml,line=1,col=2,title=x::100%25 sure%0D%0A::error::no"
    )


def test_github_knows_warnings() -> None:
    assert render([WARNING], "github", folder="sub") == (
        "::warning file=sub/c.yaml,line=1,col=1,title=stray::not read"
    )


def test_sarif_has_what_its_readers_require() -> None:
    log = json.loads(render([ERROR, WARNING], "sarif", folder="my app"))
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-2.1.0.json")
    (run,) = log["runs"]
    assert run["tool"]["driver"]["name"] == "bbops"
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["stray", "unknown-key"]
    assert run["columnKind"] == "unicodeCodePoints"
    error, warning = run["results"]
    assert (error["ruleId"], error["ruleIndex"], error["level"]) == ("unknown-key", 1, "error")
    assert error["message"] == {"text": "unknown key 'x'\ntry 'y'"}
    assert error["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": "my%20app/functions/a%20b.yaml"},
                "region": {"startLine": 3, "startColumn": 7},
            }
        }
    ]
    assert (warning["ruleIndex"], warning["level"]) == (0, "warning")


def test_count_leaves_out_what_there_is_none_of() -> None:
    assert count([ERROR]) == "1 error"
    assert count([WARNING, WARNING]) == "2 warnings"
    assert count([]) == ""


def test_a_message_cannot_reach_the_terminal() -> None:
    odd = Diagnostic(Place("a.yaml"), "x", "got '\x1b[2J\x07'", "one\u202etwo\nthree")
    assert render([odd], "text").splitlines() == [
        "a.yaml:1:1: error: got '\\x1b[2J\\x07' [x]",
        "    hint: one\\u202etwo",
        "          three",
        "1 error",
    ]


@given(st.text(), st.text())
def test_no_form_lets_control_characters_through(message: str, hint: str) -> None:
    found = [Diagnostic(Place("a.yaml"), "x", message, hint)]
    for form in FORMS:
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", render(found, form))


@given(st.text(st.characters(categories=["L", "N", "P", "S", "Zs"])))
def test_ordinary_text_prints_as_it_is(text: str) -> None:
    assert printable(text) == text


def test_a_row_of_a_list_is_one_line() -> None:
    assert one_line("a\nb\x1b[31m") == "a\\nb\\x1b[31m"
