"""Media types of answers: those that stand in a project's files, and those that are computed."""

from __future__ import annotations

import re
from typing import Any, Final

from bbops.runtime.values.failures import BadValue, WrongKind
from bbops.runtime.values.file_types import UNKNOWN
from bbops.runtime.values.operators import kind

_FORM: Final = re.compile(r"[\w.+-]+/[\w.+-]+( *; *[\w-]+=[\w.\"+-]+)*", re.ASCII)
_LONGEST: Final = 200
_MARKUP: Final = frozenset({"text/html", "application/xhtml+xml", "image/svg+xml"})


def is_content_type(text: str) -> bool:
    """Return whether a text is a media type, with or without parameters."""
    return len(text) <= _LONGEST and _FORM.fullmatch(text) is not None


def is_markup(content_type: str) -> bool:
    """Return whether browsers read a media type as HTML or SVG."""
    return _plain(content_type) in _MARKUP


def is_run_by_browsers(content_type: str) -> bool:
    """Return whether a browser would run a file of a media type: markup, XML or a script."""
    plain = _plain(content_type)
    return plain.endswith(("html", "xml")) or "script" in plain


def with_charset(content_type: str) -> str:
    """Return a media type as it is sent: texts are in UTF-8, which clients would guess."""
    if not content_type.startswith("text/") or "charset" in content_type:
        return content_type
    return f"{content_type}; charset=utf-8"


def written_type(value: Any) -> str:
    """Return a computed media type of a value, as it is sent.

    Raises:
        FlowError: it is not a media type.
    """
    return with_charset(_checked(value).lower())


def file_type(value: Any) -> str:
    """Return a computed media type of a file; types that browsers run become unknown.

    Raises:
        FlowError: it is not a media type.
    """
    found = _checked(value).lower()
    return UNKNOWN if is_run_by_browsers(found) else found


def _checked(value: Any) -> str:
    if type(value) is not str:
        raise WrongKind(f"'contentType' needs a text, got {kind(value)}")
    if not is_content_type(value):
        wanted = "expected a content type such as 'text/plain'"
        raise BadValue(f"'{value[:40]}' is not a content type: {wanted}", said=wanted)
    return value


def _plain(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()
