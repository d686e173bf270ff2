"""The size budgets of the pages: no script, and a small stylesheet."""

from __future__ import annotations

import gzip
import re

from bbops_server.control_plane.web.view import PAGES

MAX_STYLE_BYTES = 8_000
"""Compressed; gzip needs about 15 % more than brotli."""
MAX_ICON_BYTES = 2_500


def compressed(name: str) -> int:
    return len(gzip.compress((PAGES / name).read_bytes(), 9))


def test_stylesheet_and_icons_stay_within_their_budget() -> None:
    assert compressed("style.css") <= MAX_STYLE_BYTES
    assert compressed("icons.svg") <= MAX_ICON_BYTES


def test_no_template_has_a_script_or_an_inline_style() -> None:
    found = [
        path.name for path in PAGES.glob("*.html")
        if re.search(r"<script|\sstyle=|\son[a-z]+=|javascript:", path.read_text())
    ]  # fmt: skip
    assert found == []


def test_each_icon_of_a_template_exists() -> None:
    known = set(re.findall(r'id="i-(\w+)"', (PAGES / "icons.svg").read_text()))
    used = {
        name for path in PAGES.glob("*.html")
        for name in re.findall(r'icon\("(\w+)"|icons\.svg#i-(\w+)', path.read_text())
        for name in name if name
    }  # fmt: skip
    assert used <= known
