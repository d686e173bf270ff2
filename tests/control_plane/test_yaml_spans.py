"""The colours of YAML lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbops_server.control_plane.web.outline_page import spans_of
from tests.conftest import TEMPLATE

pytestmark = pytest.mark.quick


def shown(line: str) -> list[tuple[str, str]]:
    """Return the parts of a line that are not empty."""
    return [span for span in spans_of(line) if span[1]]


def test_keys_expressions_and_comments_have_classes() -> None:
    assert shown("  - find: x  # a: b") == [
        ("", "  - "), ("k", "find"), ("", ":"), ("", " x  "), ("c", "# a: b"),
    ]  # fmt: skip
    assert shown("a: '${ vars.x }#1'") == [
        ("k", "a"), ("", ":"), ("", " '"), ("v", "${ vars.x }"), ("", "#1'"),
    ]  # fmt: skip
    assert shown("# a comment") == [("c", "# a comment")]
    assert shown("at 12:30") == [("", "at 12:30")]
    assert shown("") == []


@given(st.text(max_size=200))
def test_parts_are_the_whole_line(line: str) -> None:
    assert "".join(text for _, text in spans_of(line)) == line


def test_files_of_a_project_keep_their_text() -> None:
    for path in TEMPLATE.rglob("*.yaml"):
        for line in path.read_text().splitlines():
            assert "".join(text for _, text in spans_of(line)) == line
