"""`python -m tests.vendors.table`: each step of an addon, and what it is held against.

An empty cell is a gap. What cannot be is told with its reason, in parentheses.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, fields
from functools import cache
from io import StringIO

from ruamel.yaml import YAML

from bbops.build.check import validate
from bbops.language.addons._base import kinds
from bbops.runtime.vendors import find_steps
from bbops.source.tree import MemoryTree
from tests.conftest import Files, with_function
from tests.vendors.descriptions import FILES, WITHOUT, WRONG
from tests.vendors.faults import FAULTS
from tests.vendors.scenario import vendors

OTHERWISE = {
    "htmlToPdf": "Chromium", "identityToken": "tokens of real keys",
    "imageProcessing": "it asks nobody", "localStorage": "it asks nobody",
    "objectStorage": "moto and botocore", "smtpMail": "aiosmtpd",
}  # fmt: skip
"""Addons without scenarios, and what holds them in their place."""


@dataclass(frozen=True, slots=True)
class Row:
    """One step: what holds it, in words; empty where nothing does."""

    step: str
    library: str
    description: str
    faults: str
    example: str
    wrong: str


def rows() -> list[Row]:
    """Return each step that runs."""
    return [
        row(addon, step) for addon, kind in kinds().items() for step in kind.actions
        if step in find_steps(addon)
    ]  # fmt: skip


def row(addon: str, step: str) -> Row:
    """Return what holds one step."""
    name, other = f"{addon}.{step}", OTHERWISE.get(addon)
    vendor = vendors().get(addon)
    found = [one for one in vendor.scenarios if one.name == name] if vendor else []
    offline = "(it asks nobody)" if vendor and step in vendor.offline else ""
    library = f"({other})" if other else offline
    if name == "htmlToPdf.generatePdfFromUrl":
        return Row(
            name, library, f"({WITHOUT[addon]})", f"{len(FAULTS)} faults", *judge(addon, step)
        )
    faults, description = library, f"({WITHOUT[addon]})" if addon in WITHOUT else offline
    if found:
        differs = sorted({reason for one in found for reason in one.differs.values()})
        library = f"equal, but {'; '.join(differs)}" if differs else "equal"
        faults = f"{len(FAULTS)} faults"
        if addon in FILES:
            known = f" (but {WRONG[name][1]})" if name in WRONG else ""
            description = f"{', '.join(FILES[addon])}{known}"
    return Row(name, library, description, faults, *judge(addon, step))


@cache
def judge(addon: str, step: str) -> tuple[str, str]:
    """Return what `validate` says of the example of the docs, and of a wrong use of it."""
    example = kinds()[addon].actions[step].example
    said = _mistakes(addon, example)
    is_right = "" if said else "validates"
    yaml = YAML(typ="safe")
    steps = yaml.load(example)
    name = f"{addon}.{step}"
    for one in steps:
        if name in one:
            one[name] = {**(one[name] or {}), "misspelt": 1}
    wrong = _mistakes(addon, _written(steps))
    return is_right, ", ".join(sorted(wrong - said))


def _mistakes(addon: str, steps: str) -> set[str]:
    """Return the codes of what is wrong with steps, in a project that has the addon."""
    config = kinds()[addon].config_example
    body = "".join(f"  {line}\n" for line in config.splitlines())
    files: Files = with_function("steps:\n" + "".join(f"  {one}\n" for one in steps.splitlines()))
    files[f"addons/{addon}.yaml"] = "enabled: true\n" + (f"config:\n{body}" if config else "")
    names = {part.partition(" ")[0] for part in config.split("${ env.")[1:]}
    declared = "".join(f"  {name}: {{ secret: true }}\n" for name in sorted(names))
    files["project.yaml"] = files["project.yaml"].replace("env:\n", f"env:\n{declared}")
    _, found = validate(MemoryTree(files))
    return {one.code for one in found if one.severity == "error"}


def _written(steps: object) -> str:

    out = StringIO()
    YAML(typ="safe").dump(steps, out)
    return out.getvalue()


def render(found: list[Row]) -> str:
    """Return the table as Markdown."""
    names = [one.name for one in fields(Row)]
    head = [f"| {' | '.join(names)} |", f"|{' --- |' * len(names)}"]
    cells = ([getattr(one, name) for name in names] for one in found)
    return "\n".join([*head, *(f"| {' | '.join(one)} |" for one in cells)])


if __name__ == "__main__":
    sys.stdout.write(render(rows()) + "\n")
