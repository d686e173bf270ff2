"""No text breaks a rule of docs/style.md, and the sampler and the rules can fail."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.house.messages import SURFACES, Text, find_texts, sample

STYLE = "docs/style.md"
HEADING = "## Not to write"
CELL = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True, slots=True)
class Rule:
    """What no text may match, the rule that it would break, and what to write."""

    pattern: re.Pattern[str]
    name: str
    write: str


def rules() -> list[Rule]:
    """Return the lines of the table in docs/style.md: there is no other list."""
    section = (ROOT / STYLE).read_text().partition(f"{HEADING}\n")[2].partition("\n## ")[0]
    rows = [CELL.split(line)[1:-1] for line in section.splitlines() if line.startswith("| `")]
    return [Rule(_pattern(pattern), name.strip(), write.strip()) for pattern, name, write in rows]


def _pattern(cell: str) -> re.Pattern[str]:
    return re.compile(cell.strip(" `").replace(r"\|", "|"), re.IGNORECASE)


def broken(texts: list[Text]) -> list[str]:
    """Return each text that breaks a rule, with the rule."""
    return [
        f"{text.file}:{text.line}: {text.words[:120]} [{rule.name}: write {rule.write!r}]"
        for rule in rules()
        for text in texts
        if text.file != STYLE and rule.pattern.search(text.words)
    ]


def test_texts_keep_to_the_style() -> None:
    assert broken(find_texts()) == []


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("bbops/build/check/bad.py", "yield Diagnostic(at, 'x', f\"'{name}' is no address\")\n"),
        ("bbops/interfaces/cli/bad.py", 'option(help="List them, the newest first.")\n'),
        ("server/bbops_server/commands/bad.py",
         '@click.command()\ndef command():\n    """Let the draft begin anew."""\n'),
        ("bbops/runtime/bad.py", 'raise Failure(503, f"{name} stands twice in a list")\n'),
        ("server/bbops_server/control_plane/pages/bad.html", "<p>It never keeps a merge away.</p>"),
        ("bbops/interfaces/skills/bad/SKILL.md", "The last good release serves on.\n"),
        ("docs/bad.md", "# Bad\n\nIt begins anew when it is asked.\n"),
    ],
)  # fmt: skip
def test_a_text_that_breaks_a_rule_is_found(tmp_path: Path, file: str, source: str) -> None:
    planted = tmp_path / file
    planted.parent.mkdir(parents=True)
    planted.write_text(source)
    (found,) = broken(find_texts(tmp_path))
    assert found.startswith(f"{file}:")


@pytest.mark.long
def test_each_rule_is_whole_and_each_surface_has_texts() -> None:
    assert len(rules()) > 30
    assert all(rule.name and rule.write for rule in rules())
    assert {text.surface for text in find_texts()} == set(SURFACES)


@pytest.mark.long
def test_a_seed_repeats_its_sample() -> None:
    texts = find_texts()
    assert sample(texts, 300, seed=16) == sample(texts, 300, seed=16)
    assert sample(texts, 300, seed=16) != sample(texts, 300, seed=17)
    assert sample(texts[:2], 300, seed=16) == texts[:2]
