"""Summaries, outputs and annotations: what the runner reads back equals the text."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbops.base.diagnostics import Diagnostic, Place, Severity
from bbops.base.errors import BbopsError
from bbops.base.render import printable
from bbops.interfaces.ci.reporting import (
    MAX_SUMMARY_BYTES,
    annotate,
    describe_rest,
    guard_text,
    render_code_quality,
    warn,
    write_outputs,
    write_summary,
)
from bbops.interfaces.ci.run import CiRun
from tests.support.actions_runner import WorkflowCommand, read_commands, read_outputs

GITHUB = CiRun(forge="github", event="push")
GITLAB = CiRun(forge="gitlab", event="push")
PARTS = (
    "::error::", "::stop-commands::x", "##[error]", "%0A", "%", "\n", "\r", ",", ":", "=", "a"
)  # fmt: skip
TEXTS = st.text(st.characters(exclude_categories=["Cs"])) | st.lists(st.sampled_from(PARTS)).map(
    "".join
)


def write(path: Path, values: dict[str, Any]) -> dict[str, str]:
    write_outputs(dataclasses.replace(GITHUB, outputs=path), values)
    return read_outputs(path.read_bytes().decode())


@pytest.fixture(scope="module")
def module_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("outputs")


@given(values=st.dictionaries(st.from_regex(r"[a-z][a-z0-9-]{0,9}", fullmatch=True), TEXTS))
def test_outputs_are_read_back_as_written(module_folder: Path, values: dict[str, str]) -> None:
    file = module_folder / "outputs"
    file.unlink(missing_ok=True)
    assert write(file, values) == values


def test_outputs_of_several_steps_follow_each_other(tmp_path: Path) -> None:
    write(tmp_path / "outputs", {"errors": 2})
    found = write(tmp_path / "outputs", {"changes": True, "plan-hash": "ab"})
    assert found == {"errors": "2", "changes": "true", "plan-hash": "ab"}


def test_name_of_an_output_is_checked(tmp_path: Path) -> None:
    with pytest.raises(BbopsError, match="is not the name of an output"):
        write(tmp_path / "outputs", {"a<<b": 1})


def test_without_a_file_nothing_is_written() -> None:
    write_outputs(GITLAB, {"errors": 2})
    write_summary(GITLAB, "# Title")


@given(text=TEXTS)
def test_guarded_text_contains_no_command(text: str) -> None:
    guarded = guard_text(GITHUB, printable(text))
    assert read_commands(guarded) == []
    after = "::notice::resumed"
    resumed = WorkflowCommand("notice", {}, "resumed")
    assert read_commands(f"{guarded}\n{after}") == [resumed]


def test_text_stays_as_it_is_outside_of_actions() -> None:
    assert guard_text(GITLAB, "::error::x") == "::error::x"


def diagnostic(
    message: str = "wrong", *, file: str = "a.yaml", hint: str = "", severity: Severity = "error"
) -> Diagnostic:
    return Diagnostic(Place(file, 3, 7), "unknown-key", message, hint, severity)


@given(file=TEXTS, message=TEXTS, hint=TEXTS)
def test_annotation_is_read_back_as_written(file: str, message: str, hint: str) -> None:
    found = diagnostic(message, file=file, hint=hint)
    (command,) = read_commands(annotate(GITHUB, [found], folder="services/shop"))
    text = "\n".join(filter(None, (found.message, found.hint)))
    assert (command.name, visible(command.data)) == ("error", visible(text))
    assert command.properties["title"] == "unknown-key"
    assert (command.properties["line"], command.properties["col"]) == ("3", "7")
    assert visible(command.properties["file"]) == visible(f"services/shop/{file}")


def visible(text: str) -> str:
    """Return text with escapes for control characters, apart from carriage returns."""
    return "\r".join(map(printable, text.split("\r")))


def test_only_the_first_10_of_each_severity_are_annotated() -> None:
    many = [diagnostic(str(number), severity=severity) for number in range(12)
            for severity in ("error", "warning")]  # fmt: skip
    names = [command.name for command in read_commands(annotate(GITHUB, many))]
    assert names == ["error"] * 10 + ["warning"] * 10
    assert describe_rest(many) == (
        "2 errors and 2 warnings without an annotation; '--sarif FILE' writes all"
    )
    assert describe_rest(many[:20]) == ""


def test_other_systems_get_no_annotations() -> None:
    assert annotate(GITLAB, [diagnostic()]) == ""


def test_warning_is_one_command_or_plain_text() -> None:
    text = "50 % of\n::error::x"
    assert read_commands(warn(GITHUB, text)) == [
        WorkflowCommand("warning", {"title": "bbops"}, text)
    ]
    assert warn(GITLAB, "no token") == "warning: no token"


# ---- summaries
def summarize(path: Path, *texts: str) -> str:
    for text in texts:
        write_summary(dataclasses.replace(GITHUB, summary=path), text)
    return path.read_text()


def test_summaries_are_appended(tmp_path: Path) -> None:
    assert summarize(tmp_path / "summary", "# One\n", "# Two") == "# One\n\n# Two\n\n"


def test_long_summary_is_trimmed_at_a_line(tmp_path: Path) -> None:
    found = summarize(tmp_path / "summary", "| ä |\n" * 400_000)
    assert len(found.encode()) <= MAX_SUMMARY_BYTES
    *lines, _, note, _ = found.split("\n")
    assert note == "_The summary was trimmed at 1 MiB; the log of the step is complete._"
    assert set(lines) == {"| ä |"}


def test_full_summary_stays_within_the_limit(tmp_path: Path) -> None:
    found = summarize(tmp_path / "summary", "x\n" * 600_000, "# More", "y\n" * 600_000)
    assert len(found.encode()) <= MAX_SUMMARY_BYTES
    assert found.count("trimmed") == 1


# ---- GitLab's Code Quality
def test_code_quality_lists_each_diagnostic_once() -> None:
    found = [diagnostic(hint="rename it"), diagnostic(severity="warning")]
    first, second = json.loads(render_code_quality(found, folder="services/shop"))
    assert first["location"] == {"path": "services/shop/a.yaml", "lines": {"begin": 3}}
    assert first["description"] == "wrong\nrename it"
    assert (first["check_name"], first["severity"]) == ("unknown-key", "major")
    assert second["severity"] == "minor"
    assert first["fingerprint"] != second["fingerprint"]


def test_fingerprint_does_not_depend_on_the_line() -> None:
    moved = dataclasses.replace(diagnostic(), place=Place("a.yaml", 30, 1))
    (one,), (other,) = (json.loads(render_code_quality([found])) for found in (diagnostic(), moved))
    assert one["fingerprint"] == other["fingerprint"]
