"""Explain the code of a diagnostic, with what is wrong and what is right."""

from __future__ import annotations

import click

from bbops.console import say
from bbops.diagnostics import suggest
from bbops.errors import BbopsError


@click.command()
@click.argument("code", required=False)
def command(code: str | None) -> None:
    """Explain CODE, which a diagnostic shows in brackets; without it, list all codes."""
    from bbops.authoring.codes import read_codes  # noqa: PLC0415 - after the arguments

    codes = read_codes()
    if code is None:
        say(_listed([(one.section, one.name, one.text) for one in codes.values()]))
        return
    name = code.strip("[]").lower()
    if name not in codes:
        hint = suggest(name, codes) or "'bbops explain' lists all codes"
        raise BbopsError(f"there is no code '{name}'", hint=hint)
    found = codes[name]
    head = click.style(found.name, bold=True)
    parts = [f"{head} ({_plain(found.section)})", _plain(found.text), _examples(found.examples)]
    say("\n\n".join(part for part in parts if part))


def _listed(codes: list[tuple[str, str, str]]) -> str:
    widest = max(len(name) for _, name, _ in codes)
    lines: list[str] = []
    for section in dict.fromkeys(section for section, _, _ in codes):
        lines += ["", click.style(_plain(section), bold=True)]
        lines += [
            f"  {name:{widest}}  {_plain(text)}" for one, name, text in codes if one == section
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
