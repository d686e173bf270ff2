"""Parse YAML text into events: PyYAML's C parser, or ruamel's where that is not built.

PyYAML's own pure parser is no stand-in: it refuses `?` inside flow maps. ruamel is imported
only when it is needed; the C parser is about 20 times as fast.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator
from typing import Any

import yaml
from yaml import events as kinds
from yaml.error import YAMLError
from yaml.events import Event

_c: Any = importlib.import_module("yaml._yaml") if yaml.__with_libyaml__ else None
Parse = Callable[[str], Iterator[Event]]
_ESCAPE = re.compile(r"\\(u[dD][89a-fA-F]|[\s\S])")


class Broken(Exception):
    """The text stops being YAML; places are indices into the source, -1 when unknown."""

    def __init__(self, problem: str, at: int, context: str = "", context_at: int = -1) -> None:
        super().__init__(problem)
        self.problem, self.at = problem, at
        self.context, self.context_at = context, context_at


def parse_with_c(source: str) -> Iterator[Event]:
    """Yield PyYAML's events; raise Broken where the text is not YAML."""
    parser: Any = _c.CParser(source)
    try:
        while (event := parser.get_event()) is not None:
            yield event
    except YAMLError as error:
        raise _broken(error) from None


def parse_with_ruamel(source: str) -> Iterator[Event]:
    """Yield ruamel's events as PyYAML's; raise Broken where the text is not YAML."""
    from ruamel.yaml import YAML  # noqa: PLC0415

    try:
        for event in YAML(typ="safe", pure=True).parse(source):
            yield _convert(event, source)
    except Broken:
        raise
    except Exception as error:  # noqa: BLE001 - its scanner also lets ValueError and IndexError out
        raise _broken(error) from None


parse: Parse = parse_with_ruamel if _c is None else parse_with_c


def _broken(error: Any) -> Broken:
    context = getattr(error, "context_mark", None)
    place = getattr(error, "problem_mark", None) or context
    return Broken(
        getattr(error, "problem", "") or str(error),
        place.index if place else 0,
        getattr(error, "context", "") or "",
        context.index if context else -1,
    )


def _convert(event: Any, source: str) -> Event:
    kind: Any = getattr(kinds, type(event).__name__)
    made: Event = kind.__new__(kind)
    made.__dict__.update(start_mark=event.start_mark, end_mark=event.end_mark)
    for name in ("anchor", "tag", "implicit", "value", "style", "flow_style", "explicit"):
        setattr(made, name, getattr(event, name, None))
    if kind is kinds.ScalarEvent and event.style == '"':
        _refuse_surrogates(source, event.start_mark.index, event.end_mark.index)
    return made


def _refuse_surrogates(source: str, start: int, end: int) -> None:
    # ruamel lets half a surrogate pair through; such a text cannot be encoded again.
    for escape in _ESCAPE.finditer(source, start, end):
        if len(escape[1]) > 1:
            raise Broken("found invalid Unicode character escape code", escape.start())
