"""HTML: what comes from outside never becomes markup, and is escaped only once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.conftest import with_function

Ask = Callable[..., Any]
EVIL = "<script>alert('x')</script> & co"
SAFE = "&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt; &amp; co"


def made(ask: Ask, steps: str) -> str:
    function = f"input: {{ text: string, none?: string }}\nsteps:\n{steps}"
    found = ask(with_function(function), "POST", "/run", {"text": EVIL})
    assert found.status == 200, found.body
    text: str = found.body.decode()
    return text


def page(value: str) -> str:
    return f'  - return: {{ contentType: text/html, value: "{value}" }}\n'


def test_text_in_an_html_answer_is_escaped(ask: Ask) -> None:
    assert made(ask, page("<p>${ input.text }</p>")) == f"<p>{SAFE}</p>"
    assert made(ask, page("${ input.text }")) == SAFE


def test_html_in_html_stays_as_it_is(ask: Ask) -> None:
    steps = "  - html: <b>${ input.text }</b>\n    as: bold\n"
    assert made(ask, steps + page("<p>${ vars.bold }</p>")) == f"<p><b>{SAFE}</b></p>"
    assert made(ask, steps + page("${ vars.bold + vars.bold }")) == f"<b>{SAFE}</b>" * 2


@pytest.mark.parametrize(
    "mixed",
    [
        "vars.bold + input.text", "input.text + vars.bold",
        "vars.bold if input.text == 'x' else input.text", "input.none | default(input.text)",
        "vars.bold | replace('Z', input.text)", "[vars.bold, input.text] | first | default('')",
        "[input.text, vars.bold] | join('')", "[vars.bold, vars.bold] | join(input.text)",
        "[vars.bold, input.text] | json",
    ],
)  # fmt: skip
def test_html_with_other_text_is_text(ask: Ask, mixed: str) -> None:
    steps = "  - html: <b>Z</b>\n    as: bold\n"
    assert "<script" not in made(ask, steps + page(f"${{ {mixed} }}"))


def test_a_variable_that_was_html_on_one_path_is_text(ask: Ask) -> None:
    steps = """
  - html: <b>a</b>
    as: x
  - if: input.text != ''
    then: [set: { x: "${ input.text }" }]
"""
    assert made(ask, steps + page("${ vars.x }")) == SAFE


def test_html_of_a_called_function_is_html(ask: Ask) -> None:
    called = """
input: { text: string }
steps:
  - html: <i>${ input.text }</i>
    as: x
  - return: { value: "${ vars.x }" }
"""
    steps = "  - call: { function: row, input: { text: '${ input.text }' } }\n    as: row\n"
    function = f"input: {{ text: string }}\nsteps:\n{steps}{page('${ vars.row }')}"
    files = with_function(function) | {"functions/row.yaml": called}
    assert ask(files, "POST", "/run", {"text": EVIL}).body.decode() == f"<i>{SAFE}</i>"


def test_html_given_to_a_function_is_text_there(ask: Ask) -> None:
    called = "input: { text: string }\nsteps:\n" + page("<p>${ input.text }</p>")
    function = """
steps:
  - html: <b>a</b>
    as: x
  - call: { function: row, input: { text: '${ vars.x }' } }
    as: row
  - return: { value: "${ vars.row }" }
"""
    files = with_function(function) | {"functions/row.yaml": called}
    assert ask(files, "POST", "/run", {}).json == "<p>&lt;b&gt;a&lt;/b&gt;</p>"


def test_other_content_types_are_not_escaped(ask: Ask) -> None:
    steps = "  - return: { contentType: text/plain, value: '${ input.text }' }\n"
    assert made(ask, steps) == EVIL
