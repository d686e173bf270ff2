"""Output of a CI job: the summary and outputs of a step, annotations, and GitLab's report.

Texts of a project are untrusted. The runner of GitHub reads commands from the output of a step, so
every text between commands is printed while commands are stopped.
Source: docs.github.com, "Workflow commands for GitHub Actions".
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from bbops.base.diagnostics import Diagnostic
from bbops.base.errors import BbopsError
from bbops.base.render import plural, printable, render
from bbops.interfaces.ci.files import append_text, size_of
from bbops.interfaces.ci.run import CiRun

MAX_SUMMARY_BYTES: Final = 1 << 20
"""The limit of GitHub for the summary of a step; it shows nothing of a larger file."""

MAX_ANNOTATIONS: Final = 10
"""The errors, and also the warnings, that GitHub shows for a step."""

_TRIMMED: Final = "\n\n_The summary was trimmed at 1 MiB; the log of the step is complete._\n"
_NAME: Final = re.compile(r"[a-z][a-z0-9-]*").fullmatch


def write_summary(run: CiRun, markdown: str) -> None:
    """Append Markdown to the summary of the step; do nothing if the CI system has none.

    Raises:
        BbopsError: the file cannot be written.
    """
    if run.summary is None:
        return
    text = markdown.rstrip("\n") + "\n\n"
    room = MAX_SUMMARY_BYTES - size_of(run.summary)
    if len(text.encode()) > room:
        kept = room - len(_TRIMMED.encode())
        text = _cut(text, kept) + _TRIMMED if kept > 0 else ""
    append_text(run.summary, text, max_bytes=MAX_SUMMARY_BYTES)


def _cut(text: str, max_bytes: int) -> str:
    """Return the whole lines of a text that fit into a number of bytes."""
    return text.encode()[:max_bytes].decode(errors="ignore").rpartition("\n")[0]


def write_outputs(run: CiRun, values: Mapping[str, object]) -> None:
    """Append outputs of the step; do nothing if the CI system has none.

    Args:
        run: the run of the job.
        values: by name; True and False become `true` and `false`.

    Raises:
        BbopsError: a name is not valid, or the file cannot be written.
    """
    if run.outputs is not None:
        text = "".join(_output(name, value) for name, value in values.items())
        append_text(run.outputs, text)


def _output(name: str, value: object) -> str:
    if not _NAME(name):
        raise BbopsError(f"'{name}' is not the name of an output, expected lower case and hyphens")
    text = str(value).lower() if isinstance(value, bool) else str(value)
    delimiter = f"end-{secrets.token_hex(16)}"
    return f"{name}<<{delimiter}\n{text}\n{delimiter}\n"


def guard_text(run: CiRun, text: str) -> str:
    """Return text for the output of a step, such that the runner reads no command from it."""
    if not run.has_commands or not text:
        return text
    token = secrets.token_hex(16)
    return f"::stop-commands::{token}\n{text}\n::{token}::"


def annotate(run: CiRun, diagnostics: Sequence[Diagnostic], *, folder: str = "") -> str:
    """Return commands that show diagnostics at the lines of their files.

    Args:
        run: the run of the job.
        diagnostics: in order; the first 10 errors and the first 10 warnings are shown.
        folder: the project's folder, relative to the repository's root.

    Returns:
        Lines for the output of the step; empty if the CI system has no annotations.
    """
    if not run.has_commands:
        return ""
    shown = [
        diagnostic
        for severity in ("error", "warning")
        for diagnostic in [found for found in diagnostics if found.severity == severity][
            :MAX_ANNOTATIONS
        ]
    ]
    return render(shown, "github", folder=folder)


def warn(run: CiRun, message: str) -> str:
    """Return a warning for the output of a step: an annotation without a file, or text."""
    if not run.has_commands:
        return f"warning: {printable(message)}"
    return f"::warning title=bbops::{_escape_line(message)}"


def annotate_error(run: CiRun, message: str, hint: str) -> str:
    """Return the annotation of an error that ends a command; empty without annotations."""
    if not run.has_commands:
        return ""
    return f"::error title=bbops::{_escape_line(chr(10).join(filter(None, (message, hint))))}"


def _escape_line(text: str) -> str:
    return printable(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def describe_rest(diagnostics: Sequence[Diagnostic]) -> str:
    """Return a sentence about the diagnostics without an annotation; empty if all have one."""
    counts = {
        word: sum(diagnostic.severity == word for diagnostic in diagnostics) - MAX_ANNOTATIONS
        for word in ("error", "warning")
    }
    rest = [plural(count, word) for word, count in counts.items() if count > 0]
    if not rest:
        return ""
    return f"{' and '.join(rest)} without an annotation; '--sarif FILE' writes all"


# ---- Diagnostics in the Code Quality format of GitLab
# Source: docs.gitlab.com, "Code Quality", section "Code Quality report format".

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
