"""Write diagnostics as text for people, as JSON, as GitHub annotations or as SARIF."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, Literal, get_args
from urllib.parse import quote

from bbops import __version__
from bbops.base.diagnostics import Diagnostic

Form = Literal["text", "json", "github", "sarif"]
FORMS: tuple[Form, ...] = get_args(Form)

_RESET, _BOLD, _DIM, _RED, _YELLOW = (f"\x1b[{code}m" for code in (0, 1, 2, "1;31", "1;33"))
# Control characters, and signs that turn the direction of writing: a project's text must not
# move the cursor of whoever reads about it.
_ODD = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def render(
    diagnostics: Sequence[Diagnostic], form: Form, *, folder: str = "", color: bool = False
) -> str:
    """Return diagnostics in one of the forms, in the order given and without a last line break.

    Args:
        diagnostics: none gives an empty text, or a document without results.
        form: `text` ends with a line that counts them.
        folder: where the project lies, seen from the reader's folder; put before each file
            except in JSON, whose files are always relative to the project.
        color: of the text form only.
    """
    if form == "json":
        return json.dumps({"diagnostics": [as_json(d) for d in diagnostics]}, indent=2)
    if form == "sarif":
        return json.dumps(_sarif(diagnostics, folder), indent=2)
    if form == "github":
        return "\n".join(_annotation(d, folder) for d in diagnostics)
    paint = _paint if color else _leave
    lines = [_text(d, folder, paint) for d in diagnostics]
    return "\n".join([*lines, count(diagnostics)]) if lines else ""


def as_json(diagnostic: Diagnostic) -> dict[str, Any]:
    """Return a diagnostic as every JSON of ours shows it."""
    return {
        "severity": diagnostic.severity,
        "code": diagnostic.code,
        "file": diagnostic.place.file,
        "line": diagnostic.place.line,
        "column": diagnostic.place.column,
        "message": diagnostic.message,
        "hint": diagnostic.hint,
    }


def count(diagnostics: Sequence[Diagnostic]) -> str:
    """Return `2 errors, 1 warning`; zero counts are left out."""
    numbers = {
        severity: sum(d.severity == severity for d in diagnostics)
        for severity in ("error", "warning")
    }
    return ", ".join(plural(number, word) for word, number in numbers.items() if number)


_PLURAL_VERB = re.compile(r"^rows (get|hold|violate|refer|share)\b")


def plural(number: int, word: str) -> str:
    """Return `1 error` or `2 errors`."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def counted_rows(number: int, words: str) -> str:
    """Return `3 rows hold null` or `1 row holds null`; `words` speak of several rows."""
    if number != 1:
        return f"{number} {words}"
    single = _PLURAL_VERB.sub(lambda found: f"row {found[1]}s", words)
    return f"1 {single.replace('rows ', 'row ', 1).replace(' their ', ' its ')}"


def printable(text: str) -> str:
    """Return text with escapes for what would act on a terminal; line breaks stay."""
    return _ODD.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def one_line(text: str) -> str:
    """Return text as `printable` does, line breaks escaped too: what is one row of a list."""
    return printable(text).replace("\n", "\\n")


# ---- text
Painter = Callable[[str, str], str]


def _paint(style: str, text: str) -> str:
    return f"{style}{text}{_RESET}"


def _leave(_style: str, text: str) -> str:
    return text


def _text(diagnostic: Diagnostic, folder: str, paint: Painter) -> str:
    place, severity = diagnostic.place, diagnostic.severity
    where = f"{_path(diagnostic, folder)}:{place.line}:{place.column}:"
    label = paint(_RED if severity == "error" else _YELLOW, f"{severity}:")
    code = paint(_DIM, f"[{diagnostic.code}]")
    message = printable(diagnostic.message).replace("\n", " ")
    head = f"{paint(_BOLD, printable(where))} {label} {message} {code}"
    if not diagnostic.hint:
        return head
    hint = printable(diagnostic.hint).replace("\n", "\n          ")
    return f"{head}\n    {paint(_DIM, 'hint:')} {hint}"


def _path(diagnostic: Diagnostic, folder: str) -> str:
    return f"{folder}/{diagnostic.place.file}" if folder else diagnostic.place.file


# ---- GitHub: docs.github.com, "Workflow commands for GitHub Actions"
def _annotation(diagnostic: Diagnostic, folder: str) -> str:
    place = diagnostic.place
    properties = {
        "file": _path(diagnostic, folder),
        "line": str(place.line),
        "col": str(place.column),
        "title": diagnostic.code,
    }
    listed = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{diagnostic.severity} {listed}::{_data(_with_hint(diagnostic))}"


def _with_hint(diagnostic: Diagnostic) -> str:
    return "\n".join(filter(None, (diagnostic.message, diagnostic.hint)))


def _data(text: str) -> str:
    escaped = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return printable(escaped)


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


# ---- SARIF 2.1.0
def _sarif(diagnostics: Sequence[Diagnostic], folder: str) -> dict[str, Any]:
    codes = sorted({d.code for d in diagnostics})
    rules = [{"id": code, "shortDescription": {"text": code.replace("-", " ")}} for code in codes]
    run = {
        "tool": {"driver": {"name": "bbops", "version": __version__, "rules": rules}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(d, codes.index(d.code), folder) for d in diagnostics],
    }
    return {"$schema": _SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}


def _result(diagnostic: Diagnostic, rule: int, folder: str) -> dict[str, Any]:
    place = diagnostic.place
    where = {
        "artifactLocation": {"uri": quote(_path(diagnostic, folder))},
        "region": {"startLine": place.line, "startColumn": place.column},
    }
    return {
        "ruleId": diagnostic.code,
        "ruleIndex": rule,
        "level": diagnostic.severity,
        "message": {"text": _with_hint(diagnostic)},
        "locations": [{"physicalLocation": where}],
    }
