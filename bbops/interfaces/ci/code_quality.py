"""Diagnostics in the Code Quality format of GitLab.

Source: docs.gitlab.com, "Code Quality", section "Code Quality report format".
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from bbops.base.diagnostics import Diagnostic
from bbops.base.render import printable

_SEVERITIES: Final = {"error": "major", "warning": "minor"}


def render_code_quality(diagnostics: Sequence[Diagnostic], *, folder: str = "") -> str:
    """Return diagnostics as a JSON list.

    Args:
        diagnostics: in the order of the list.
        folder: the project's folder, relative to the repository's root.
    """
    seen = Counter[str]()
    return json.dumps([_issue(found, folder, seen) for found in diagnostics], indent=2)


def _issue(found: Diagnostic, folder: str, seen: Counter[str]) -> dict[str, Any]:
    path = f"{folder}/{found.place.file}" if folder else found.place.file
    text = printable("\n".join(filter(None, (found.message, found.hint))))
    key = f"{path}\0{found.code}\0{found.message}"
    seen[key] += 1
    # Without the line, an issue keeps its fingerprint while lines above it come and go.
    fingerprint = hashlib.sha256(f"{key}\0{seen[key]}".encode(errors="replace")).hexdigest()
    return {
        "description": text,
        "check_name": found.code,
        "fingerprint": fingerprint,
        "severity": _SEVERITIES[found.severity],
        "location": {"path": path, "lines": {"begin": found.place.line}},
    }
