"""The results of tests, as text, JSON and JUnit XML."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

from bbops.base.diagnostics import Diagnostic
from bbops.base.render import plural, printable
from bbops.compiler.testing.outcome import Outcome


def describe(outcome: Outcome) -> str:
    """Return what is wrong with a case: expectations, the answer, the steps that ran."""
    lines = [f"{outcome.place}: failed: {outcome.test}: {outcome.case}"]
    lines += [f"    {wrong.place.file}:{wrong.place.line}: {wrong.message}"
              for wrong in outcome.wrong]  # fmt: skip
    if outcome.answer:
        lines.append(f"    answer: {outcome.answer}")
    lines += [f"    log: {line}" for line in outcome.log]
    if outcome.steps:
        lines += ["    steps:", *_steps(outcome)]
    return printable("\n".join(lines))


def _steps(outcome: Outcome) -> list[str]:
    rows = [(f"{one.file}:{one.line}", one.step, one) for one in outcome.steps]
    widest, longest = max(len(row[0]) for row in rows), max(len(row[1]) for row in rows)
    return [
        f"      {where:{widest}}  {step:{longest}}  {one.milliseconds:6.1f} ms"
        + "".join(f"  {name} = {value}" for name, value in one.changed.items())
        for where, step, one in rows
    ]


def summarize(outcomes: Sequence[Outcome]) -> str:
    """Return `2 failed, 5 passed in 0.4 s`."""
    failed = sum(bool(one.wrong) for one in outcomes)
    passed, seconds = len(outcomes) - failed, sum(one.seconds for one in outcomes)
    words = [f"{failed} failed"] * bool(failed) + [f"{passed} passed"]
    return f"{', '.join(words)} in {seconds:.1f} s"


def by_file(outcomes: Sequence[Outcome]) -> list[str]:
    """Return a line for each test whose cases all passed."""
    tests = dict.fromkeys(one.test for one in outcomes)
    found = {name: [one for one in outcomes if one.test == name] for name in tests}
    return [
        f"{each[0].place.file}: {plural(len(each), 'case')} passed"
        for each in found.values() if not any(one.wrong for one in each)
    ]  # fmt: skip


def as_json(outcomes: Sequence[Outcome]) -> str:
    """Return every case as JSON."""
    return json.dumps({"cases": [_json(one) for one in outcomes]}, indent=2, ensure_ascii=False)


def _json(outcome: Outcome) -> dict[str, Any]:
    told: dict[str, Any] = {
        "test": outcome.test, "case": outcome.case, "passed": not outcome.wrong,
        "file": outcome.place.file, "line": outcome.place.line,
        "milliseconds": round(1000 * outcome.seconds, 1),
    }  # fmt: skip
    if not outcome.wrong:
        return told
    wrong = [
        {"file": one.place.file, "line": one.place.line, "column": one.place.column,
         "message": one.message}
        for one in outcome.wrong
    ]  # fmt: skip
    steps = [
        {"file": one.file, "line": one.line, "step": one.step,
         "milliseconds": round(one.milliseconds, 1), "changed": dict(one.changed)}
        for one in outcome.steps
    ]  # fmt: skip
    return {**told, "wrong": wrong, "answer": outcome.answer, "log": list(outcome.log),
            "steps": steps}  # fmt: skip


def as_junit(outcomes: Sequence[Outcome]) -> bytes:
    """Return the cases as JUnit XML, a suite for each test."""
    root = Element("testsuites")
    for name in dict.fromkeys(one.test for one in outcomes):
        each = [one for one in outcomes if one.test == name]
        suite = SubElement(root, "testsuite", _counts(name, each))
        for outcome in each:
            _add_case(suite, outcome)
    written: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return written


def _counts(name: str, outcomes: Sequence[Outcome]) -> dict[str, str]:
    return {
        "name": name, "tests": str(len(outcomes)),
        "failures": str(sum(bool(one.wrong) for one in outcomes)), "errors": "0",
        "time": f"{sum(one.seconds for one in outcomes):.3f}",
    }  # fmt: skip


def _add_case(suite: Element, outcome: Outcome) -> None:
    case = SubElement(suite, "testcase", {
        "classname": outcome.test.replace("/", "."), "name": printable(outcome.case),
        "file": outcome.place.file, "line": str(outcome.place.line),
        "time": f"{outcome.seconds:.3f}",
    })  # fmt: skip
    if outcome.wrong:
        told = {"message": printable("; ".join(one.message for one in outcome.wrong))}
        SubElement(case, "failure", told).text = describe(outcome)


def as_diagnostics(outcome: Outcome) -> list[Diagnostic]:
    """Return each expectation that does not hold, at its place; none of a case that passed."""
    hint = f"'bbops test {outcome.test}' shows the steps it took"
    return [
        Diagnostic(one.place, "test-failed", f"'{outcome.case}': {one.message}", hint)
        for one in outcome.wrong
    ]  # fmt: skip


def write_junit(path: Path, outcomes: Sequence[Outcome]) -> None:
    """Write JUnit XML to a file."""
    path.write_bytes(as_junit(outcomes))
