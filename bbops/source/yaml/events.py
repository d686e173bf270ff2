"""Parser events of a YAML text, and complaints about a text that is not YAML.

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

from bbops.source.yaml.nodes import Problem

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


# ---- Say what is wrong with a text that is not YAML, in words that do not depend on the parser
# The usual causes in this language come first: an unquoted expression, cron line or route.

QUOTE_COLON = "a value with ': ' inside must be quoted"
QUOTE_STAR = "quote a value that starts with '*', for example a cron line"
SECOND = "a second YAML document starts here"
ONE_EACH = "put one resource in each file"
NO_KEY = "expected a key before ':'"
APOSTROPHE = "an apostrophe inside '…' is written twice: ''"
COMMA = "a comma inside { } or [ ] ends a value: quote the whole value"
_Explain = Callable[[str, Broken], Problem]


def explain(source: str, broken: Broken) -> Problem:
    """Return the Problem behind a parser's complaint."""
    tab = re.compile(r"[ \t]*").match(source, _line_start(source, broken.at))
    if tab and "\t" in tab[0]:
        at = tab.start() + tab[0].index("\t")
        return problem(source, at, "a tab indents this line", "indent with spaces, not tabs")
    words = f"{broken.context}: {broken.problem}"
    for pattern, explain_one in _RULES:
        if re.search(pattern, words):
            return explain_one(source, broken)
    return problem(source, broken.at, f"this is not valid YAML: {broken.problem}")


def problem(
    source: str, at: int, message: str, hint: str = "", code: str = "yaml-syntax"
) -> Problem:
    """Return a Problem at index `at` of the source."""
    start = _line_start(source, at)
    line = len(re.findall(r"\r\n|\r|\n", source[:start])) + 1
    return Problem(line, min(at, len(source)) - start + 1, code, message, hint)


def _line_start(source: str, at: int) -> int:
    return max(source.rfind("\n", 0, at), source.rfind("\r", 0, at)) + 1


def _found(source: str, at: int) -> str:
    word = re.compile(r"\s*(\S{0,24})").match(source, at)
    return f"'{word[1]}'" if word and word[1] else "the end of the file"


def _line(source: str, at: int) -> int:
    return problem(source, at, "").line


def refuse_name(source: str, at: int) -> Problem:
    """Return the Problem of a `*` or `&` that begins no alias or anchor."""
    sign = source[at : at + 1]
    what = "alias" if sign == "*" else "anchor"
    hint = QUOTE_STAR if sign == "*" else f"quote a value that starts with '{sign}'"
    return problem(source, at, f"'{sign}' starts a YAML {what}", hint, "yaml-anchor")


def _explain_alias(source: str, broken: Broken) -> Problem:
    return refuse_name(source, broken.context_at if broken.context_at >= 0 else broken.at)


def _explain_tag(source: str, broken: Broken) -> Problem:
    at = broken.context_at if source[broken.context_at :][:1] == "!" else broken.at
    at = source.rfind("!", 0, at + 1) if source.rfind("!", 0, at + 1) >= 0 else at
    hint = "quote a value that starts with '!'"
    return problem(source, at, "'!' starts a YAML tag", hint, "yaml-tag")


def _explain_open_quote(source: str, broken: Broken) -> Problem:
    at = broken.context_at if broken.context_at >= 0 else broken.at
    quote = source[at : at + 1]
    hint = APOSTROPHE if quote == "'" else ""
    return problem(source, at, f"the quote ({quote}) that opens here is never closed", hint)


def _explain_flow(source: str, broken: Broken) -> Problem:
    if source[broken.at : broken.at + 1] == "{" and source[broken.at - 1 : broken.at] == "$":
        hint = 'write "${ … }" with quotes, or put it on a line of its own'
        message = "an expression inside { } or [ ] must be quoted"
        return problem(source, broken.at - 1, message, hint)
    if _follows_quote(source, broken.at):
        return _explain_after_quote(source, broken.at)
    opened = source[broken.context_at : broken.context_at + 1]
    close = "]" if "]" in broken.problem else "}"
    message = f"expected ',' or '{close}', found {_found(source, broken.at)}"
    hint = f"'{opened}' opens on line {_line(source, broken.context_at)}" if opened else ""
    return problem(source, broken.at, message, hint)


def _follows_quote(source: str, at: int) -> bool:
    before = source[_line_start(source, at) : at].rstrip()
    return before.endswith(("'", '"')) and at < len(source)


def _explain_after_quote(source: str, at: int) -> Problem:
    hint = "quote the whole value, or begin it with something else than a quoted text"
    if source[at - 1 : at] == "'":
        hint = COMMA if source[at : at + 1] == ")" else APOSTROPHE
    return problem(source, at, f"found {_found(source, at)} after a closing quote", hint)


def _explain_block(source: str, broken: Broken) -> Problem:
    if _follows_quote(source, broken.at):
        return _explain_after_quote(source, broken.at)
    if source[broken.at : broken.at + 1] == ":":
        return problem(source, broken.at, NO_KEY, code="yaml-key")
    what = "a key" if "mapping" in broken.context else "an item ('- …')"
    opened = _line(source, max(broken.context_at, 0))
    message = f"expected {what} of the block that begins on line {opened}"
    hint = "check the indentation; entries of one block start in the same column"
    return problem(source, broken.at, f"{message}, found {_found(source, broken.at)}", hint)


def _explain_item(source: str, broken: Broken) -> Problem:
    hint = "begin the list on the next line; quote a value that starts with '- '"
    return problem(source, broken.at, "a list item cannot begin here", hint)


def _explain_colon(source: str, broken: Broken) -> Problem:
    before = source[_line_start(source, broken.at) : broken.at]
    if re.search(r":\s", before) or "${" in before:
        return problem(source, broken.at, "found ': ' inside a value", QUOTE_COLON)
    hint = f"check the indentation of this line and the one before; {QUOTE_COLON}"
    return problem(source, broken.at, f"'{before.strip()[:40]}' cannot be a key here", hint)


def _explain_key(source: str, broken: Broken) -> Problem:
    at = broken.context_at if broken.context_at >= 0 else broken.at
    hint = "write 'key: value', or indent the line so that it belongs to the text before it"
    return problem(source, at, f"expected ':' after {_found(source, at)}", hint)


def _explain_start(source: str, broken: Broken) -> Problem:
    sign = source[broken.at : broken.at + 1]
    message = f"a value cannot start with '{sign}'"
    return problem(source, broken.at, message, f"quote a value that starts with '{sign}'")


def _explain_escape(source: str, broken: Broken) -> Problem:
    at = max(source.rfind("\\", 0, broken.at + 1), 0)
    hint = "write '\\\\' for a backslash, or use single quotes"
    return problem(source, at, f"'{source[at : at + 2]}' is no escape in a text in \"…\"", hint)


def _explain_value(source: str, broken: Broken) -> Problem:
    return problem(source, broken.at, f"expected a value, found {_found(source, broken.at)}")


def _explain_rest(source: str, broken: Broken) -> Problem:
    if source[: broken.at].rstrip().endswith("\n..."):
        return problem(source, broken.at, SECOND, ONE_EACH, "yaml-documents")
    message = f"expected the end of the file, found {_found(source, broken.at)}"
    return problem(source, broken.at, message, "check the indentation and closing brackets")


def _explain_block_text(source: str, broken: Broken) -> Problem:
    at = broken.context_at if broken.context_at >= 0 else broken.at
    sign = source[at : at + 1]
    hint = f"quote a value that starts with '{sign}'; the text of a block begins on the next line"
    return problem(source, at, f"expected a line break after '{sign}'", hint)


_RULES: tuple[tuple[str, _Explain], ...] = (
    (r"scanning an (alias|anchor)", _explain_alias),
    (r"\btag\b", _explain_tag),
    (r"unexpected (end of stream|document)", _explain_open_quote),
    (r"unknown escape|hexa?decimal|[Uu]nicode character escape", _explain_escape),
    (r"',' or", _explain_flow),
    (r"block scalar", _explain_block_text),
    (r"sequence entries", _explain_item),
    (r"mapping values", _explain_colon),
    (r"expected ':'", _explain_key),
    (r"cannot start any token", _explain_start),
    (r"document start", _explain_rest),
    (r"block (mapping|collection|sequence)", _explain_block),
    (r"node", _explain_value),
)
