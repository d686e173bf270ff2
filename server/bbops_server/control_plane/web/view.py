"""Render pages: Jinja templates that escape everything."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from jinja2 import BaseLoader, DictLoader, Environment, FileSystemLoader, StrictUndefined
from litestar.plugins.jinja import JinjaTemplateEngine
from litestar.template import TemplateConfig

from bbops.base.assets import unpack
from bbops.base.json_traffic import summarize_refusal
from bbops_server.control_plane.web.frame import Panel, frames
from bbops_server.control_plane.web.islands import FONT_TYPE, Islands

_SIGNS: Final = {"+ ": "add", "- ": "gone", "~ ": "changed", "> ": "changed"}
_DIFF: Final = {"+": "add", "-": "gone", "d": "head", "@": "soft", "…": "soft"}

PAGES: Final = Path(__file__).parent.parent / "pages"
PACKED: Final = PAGES.with_name("pages.tar.bz2")
"""The templates of an installation."""


def create_template_config(panels: Sequence[Panel], islands: Islands) -> TemplateConfig[Any]:
    """Return the configuration of the templates; `panels` are the pages of a project."""
    environment = Environment(
        loader=_make_loader(), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.globals["frame_of"] = frames(panels)
    environment.globals |= {
        "island": islands.tags, "font": islands.font, "FONT_TYPE": FONT_TYPE,
    }  # fmt: skip
    environment.filters["moment"] = show_moment
    environment.filters["utc"] = read_moment
    environment.filters["plan_lines"] = mark_lines
    environment.filters["refusal_line"] = summarize_refusal
    environment.filters["diff_lines"] = mark_diff
    return TemplateConfig(instance=JinjaTemplateEngine.from_environment(environment))


def _make_loader() -> BaseLoader:
    if not PACKED.is_file():
        return FileSystemLoader(PAGES)
    return DictLoader({name: text.decode() for name, text in unpack(PACKED).items()})


def show_moment(moment: datetime | None) -> str:
    """Return a UTC time to the minute; the footer of each page says that times are UTC."""
    return "never" if moment is None else f"{moment:%Y-%m-%d %H:%M}"


def read_moment(seconds: float | None) -> datetime | None:
    """Return the UTC time of seconds since 1970; None for 0 or None."""
    return datetime.fromtimestamp(seconds, UTC) if seconds else None


def mark_lines(text: str) -> list[tuple[str, str]]:
    """Return each line of a plan with its CSS class."""
    return [(_kind_of(line), line) for line in text.splitlines()]


def mark_diff(text: str) -> list[tuple[str, str]]:
    """Return each line of a diff with its CSS class."""
    return [(_DIFF.get(line[:1], ""), line) for line in text.splitlines()]


def _kind_of(line: str) -> str:
    if line[:1].strip():
        return "head"
    return "hint" if line.lstrip().startswith("hint:") else _SIGNS.get(line[2:4], "")
