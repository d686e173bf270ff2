"""Explain the code of a diagnostic, with what is wrong and what is right."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from bbops.base.console import say
from bbops.base.diagnostics import suggest
from bbops.base.errors import BbopsError
from bbops.interfaces.cli._examples import examples

if TYPE_CHECKING:
    from bbops.edit.authoring.codes import Code


@examples("bbops explain unknown-column", "bbops explain")
@click.command()
@click.argument("code", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def command(code: str | None, *, as_json: bool) -> None:
    """Explain CODE, which a diagnostic shows in brackets; without it, list all codes."""
    from bbops.edit.authoring.codes import read_codes  # noqa: PLC0415 - after the arguments

    codes = read_codes()
    if code is None:
        every = list(codes.values())
        say(json.dumps(list(map(_as_json, every))) if as_json else _listed(every))
        return
    name = code.strip("[]").lower()
    if name not in codes:
        hint = suggest(name, codes) or "'bbops explain' lists all codes"
        raise BbopsError(f"there is no code '{name}'", hint=hint)
    found = codes[name]
    say(json.dumps(_as_json(found)) if as_json else _explained(found))


def _as_json(one: Code) -> dict[str, str]:
    return {"code": one.name, "section": one.section, "text": one.text, "examples": one.examples}


def _explained(found: Code) -> str:
    head = click.style(found.name, bold=True)
    parts = [f"{head} ({_plain(found.section)})", _plain(found.text), _examples(found.examples)]
    return "\n\n".join(part for part in parts if part)


def _listed(codes: list[Code]) -> str:
    widest = max(len(one.name) for one in codes)
    lines: list[str] = []
    for section in dict.fromkeys(one.section for one in codes):
        lines += ["", click.style(_plain(section), bold=True)]
        lines += [
            f"  {one.name:{widest}}  {_plain(one.text)}" for one in codes if one.section == section
        ]
    return "\n".join(lines[1:])


def _plain(markdown: str) -> str:
    """Return text without the backticks of Markdown; a `|` in a table is escaped there."""
    return markdown.replace("\\|", "|").replace("`", "'")


def _examples(markdown: str) -> str:
    """Return examples with their YAML indented, and without the fences around it."""
    lines, inside = list[str](), False
    for line in markdown.splitlines():
        if line.startswith("```"):
            inside = not inside
        else:
            lines.append(f"    {line}".rstrip() if inside else _plain(line))
    return "\n".join(lines)
