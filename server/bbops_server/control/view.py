"""Render pages: Jinja templates that escape everything."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from litestar.plugins.jinja import JinjaTemplateEngine
from litestar.template import TemplateConfig

PAGES: Final = Path(__file__).parent / "pages"


def create_template_config() -> TemplateConfig[Any]:
    """Return how Litestar finds the pages."""
    environment = Environment(
        loader=FileSystemLoader(PAGES), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters["moment"] = show_moment
    return TemplateConfig(instance=JinjaTemplateEngine.from_environment(environment))


def show_moment(moment: datetime | None) -> str:
    """Return a time as people read it; the page says that all are UTC."""
    return "never" if moment is None else f"{moment:%Y-%m-%d %H:%M}"
