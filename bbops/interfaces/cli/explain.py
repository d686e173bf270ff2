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
from bbops.interfaces.cli._examples import examples
from bbops.interfaces.cli._markdown import as_plain, without_marks

if TYPE_CHECKING:
    from bbops.review.plan.codes import Section

_PLANS: Final[Mapping[Section, str]] = {
    "break": "Plans: breaks for clients", "access": "Plans: access that is loosened",
    "work": "Plans: jobs",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Entry:
    """What can be explained. `text` is Markdown, `told` what `--json` prints."""

    kind: str
    name: str
    section: str
    summary: str
    text: str
    told: dict[str, str]


@examples("bbops explain unknown-column", "bbops explain filter date")
@click.command()
@click.argument("words", nargs=-1, metavar="[KIND] [NAME]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def command(words: tuple[str, ...], *, as_json: bool) -> None:
    """Explain a code that a message shows in brackets, or a word of the language.

    Codes are those of diagnostics, plans, publications (such as EnvMissing), responses and jobs.

    KIND is code, type, operator, filter, function, step, kind, addon or key. A NAME without a KIND
    is explained for each KIND that has it. A KIND without a NAME is listed; without both, the
    codes are.
    """
    entries = _read()
    kind, name = _asked(words, list(dict.fromkeys(one.kind for one in entries)))
    if kind or not name:
        entries = [one for one in entries if one.kind == (kind or "code")]
    if not name:
        say(json.dumps([one.told for one in entries]) if as_json else _listed(entries))
        return
    found = _find(name, entries)
    if as_json:
        told = [{**one.told, **_data(one)} for one in found]
        say(json.dumps(told[0] if len(told) == 1 else told))
        return
    say("\n\n".join(map(_explained, found)))


def _data(entry: _Entry) -> dict[str, Any]:
    """Return the fields of a type, operator, filter or function; empty for other entries."""
    from bbops.language.reference import read_reference  # noqa: PLC0415 - only for `--json`

    groups = {str(group): entries for group, entries in read_reference().items()}
    found = groups.get(entry.kind, {}).get(entry.name)
    return found.as_json() if found is not None else {}


def _read() -> list[_Entry]:
    from bbops.edit.authoring.codes import read_codes  # noqa: PLC0415 - after the arguments
    from bbops.edit.authoring.topics import read_topics  # noqa: PLC0415 - see above
    from bbops.review.plan.codes import CODES  # noqa: PLC0415 - see above

    codes = [
        _Entry(
            "code", one.name, one.section, one.text, f"{one.text}\n\n{one.examples}",
            {"code": one.name, "section": one.section, "text": one.text, "examples": one.examples},
        )
        for one in read_codes().values()
    ]  # fmt: skip
    plans = [
        _Entry(
            "code", name, _PLANS[one.section], one.text, f"{one.text}\n\nWhat to do: {one.cure}",
            {"code": name, "section": _PLANS[one.section], "text": one.text, "cure": one.cure},
        )
        for name, one in CODES.items()
    ]  # fmt: skip
    topics = [
        _Entry(
            one.group, one.name, one.group, one.summary, one.text,
            {"kind": one.group, "name": one.name, "text": one.text},
        )
        for one in read_topics()
    ]  # fmt: skip
    return [*codes, *plans, *topics]


def _asked(words: Sequence[str], kinds: Sequence[str]) -> tuple[str, str]:
    """Return the kind and the name that were asked for; empty where one was not."""
    if words[:3] == ("operator", "not", "in"):
        words = ("operator", "not in", *words[3:])
    if words[2:]:
        raise click.UsageError(f"got unexpected extra argument ({' '.join(words[2:])})")
    first, second = (*words, "", "")[:2]
    if second and first not in kinds:
        raise BbopsError(f"there is no kind '{first}'", hint=f"choose one of {', '.join(kinds)}")
    return (first, second) if first in kinds else ("", first)


def _find(name: str, entries: Sequence[_Entry]) -> list[_Entry]:
    """Return what has a name; in any case, where nothing has it as it is written."""
    name = name.strip("[]") or name
    found = [one for one in entries if one.name == name]
    found = found or [one for one in entries if one.name.lower() == name.lower()]
    if found:
        return found
    kind, *others = {one.kind for one in entries}
    what = "code or word" if others else kind
    lists = "'bbops explain' lists the codes" if others else f"'bbops explain {kind}' lists all"
    near = suggest(name, {one.name for one in entries})
    raise BbopsError(f"there is no {what} '{name}'", hint=near or lists)


def _explained(found: _Entry) -> str:
    head = click.style(found.name, bold=True)
    return f"{head} ({without_marks(found.section)})\n\n{as_plain(found.text.strip())}"


def _listed(entries: Sequence[_Entry]) -> str:
    widest = max(len(one.name) for one in entries)
    lines: list[str] = []
    for section in dict.fromkeys(one.section for one in entries):
        lines += ["", click.style(without_marks(section), bold=True)]
        lines += [
            f"  {one.name:{widest}}  {without_marks(one.summary)}"
            for one in entries if one.section == section
        ]  # fmt: skip
    return "\n".join(lines[1:])
