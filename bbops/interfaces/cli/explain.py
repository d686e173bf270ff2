"""Explain the codes of diagnostics, and the words of the language."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import click

from bbops.base.console import say
from bbops.base.diagnostics import suggest
from bbops.base.errors import BbopsError
from bbops.interfaces.cli._command_group import examples
from bbops.interfaces.cli._markdown import as_plain, without_marks

if TYPE_CHECKING:
    from bbops.review.plan.codes import Section

_PLANS: Final[Mapping[Section, str]] = {
    "break": "Plans: breaks for clients", "access": "Plans: access that is loosened",
    "work": "Plans: jobs",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Explanation:
    """An entry that can be explained. `text` is Markdown, `data` is the output of `--json`."""

    kind: str
    name: str
    section: str
    summary: str
    text: str
    data: dict[str, str]


@examples("bbops explain unknown-column", "bbops explain filter date")
@click.command()
@click.argument("words", nargs=-1, metavar="[KIND] [NAME]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def command(words: tuple[str, ...], *, as_json: bool) -> None:
    """Explain a code that a message shows in brackets, or a word of the language.

    Codes belong to diagnostics, plans, publications (such as EnvMissing), responses and jobs.

    KIND is code, type, operator, filter, function, step, kind, addon or key. A NAME without a KIND
    is explained for each KIND that has it. A KIND without a NAME is listed; without both, the
    codes are listed.
    """
    entries = _read()
    kind, name = _parse(words, list(dict.fromkeys(entry.kind for entry in entries)))
    if kind or not name:
        entries = [entry for entry in entries if entry.kind == (kind or "code")]
    if not name:
        say(json.dumps([entry.data for entry in entries]) if as_json else _list(entries))
        return
    matches = _find(name, entries)
    if as_json:
        objects = [{**entry.data, **_reference(entry)} for entry in matches]
        say(json.dumps(objects[0] if len(objects) == 1 else objects))
        return
    say("\n\n".join(map(_explain, matches)))


def _reference(entry: _Explanation) -> dict[str, Any]:
    """Return the fields of a type, operator, filter or function; empty for other entries."""
    from bbops.language.reference import read_reference  # noqa: PLC0415 - only for `--json`

    groups = {str(group): entries for group, entries in read_reference().items()}
    item = groups.get(entry.kind, {}).get(entry.name)
    return item.as_json() if item is not None else {}


def _read() -> list[_Explanation]:
    from bbops.edit.authoring.topics import read_codes, read_topics  # noqa: PLC0415 - see above
    from bbops.review.plan.codes import CODES  # noqa: PLC0415 - see above

    codes = [
        _Explanation(
            "code", code.name, code.section, code.text, f"{code.text}\n\n{code.examples}",
            {"code": code.name, "section": code.section, "text": code.text,
             "examples": code.examples},
        )
        for code in read_codes().values()
    ]  # fmt: skip
    plans = [
        _Explanation(
            "code", name, _PLANS[effect.section], effect.text,
            f"{effect.text}\n\nWhat to do: {effect.cure}",
            {"code": name, "section": _PLANS[effect.section], "text": effect.text,
             "cure": effect.cure},
        )
        for name, effect in CODES.items()
    ]  # fmt: skip
    topics = [
        _Explanation(
            topic.group, topic.name, topic.group, topic.summary, topic.text,
            {"kind": topic.group, "name": topic.name, "text": topic.text},
        )
        for topic in read_topics()
    ]  # fmt: skip
    return [*codes, *plans, *topics]


def _parse(words: Sequence[str], kinds: Sequence[str]) -> tuple[str, str]:
    """Return the KIND and the NAME of the arguments; a missing argument is empty."""
    if words[:3] == ("operator", "not", "in"):
        words = ("operator", "not in", *words[3:])
    if words[2:]:
        raise click.UsageError(f"got unexpected extra argument ({' '.join(words[2:])})")
    first, second = (*words, "", "")[:2]
    if second and first not in kinds:
        raise BbopsError(f"there is no kind '{first}'", hint=f"choose one of {', '.join(kinds)}")
    return (first, second) if first in kinds else ("", first)


def _find(name: str, entries: Sequence[_Explanation]) -> list[_Explanation]:
    """Return the entries with a name; ignore case only if no entry matches exactly."""
    name = name.strip("[]") or name
    matches = [entry for entry in entries if entry.name == name]
    matches = matches or [entry for entry in entries if entry.name.lower() == name.lower()]
    if matches:
        return matches
    kind, *others = {entry.kind for entry in entries}
    what = "code or word" if others else kind
    lists = "'bbops explain' lists the codes" if others else f"'bbops explain {kind}' lists all"
    near = suggest(name, {entry.name for entry in entries})
    raise BbopsError(f"there is no {what} '{name}'", hint=near or lists)


def _explain(entry: _Explanation) -> str:
    head = click.style(entry.name, bold=True)
    return f"{head} ({without_marks(entry.section)})\n\n{as_plain(entry.text.strip())}"


def _list(entries: Sequence[_Explanation]) -> str:
    widest = max(len(entry.name) for entry in entries)
    lines: list[str] = []
    for section in dict.fromkeys(entry.section for entry in entries):
        lines += ["", click.style(without_marks(section), bold=True)]
        lines += [
            f"  {entry.name:{widest}}  {without_marks(entry.summary)}"
            for entry in entries if entry.section == section
        ]  # fmt: skip
    return "\n".join(lines[1:])
