"""Texts follow docs/style.md: its patterns, and the list of places that still need a noun."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.house.messages import SURFACES, Text, find_texts, sample
from tests.house.words import (
    ADVICE,
    ALLOWED,
    CLEAN,
    COMMAND,
    Place,
    allowed,
    find_places,
    read_list,
    scan_code,
    scan_page,
    update,
)  # fmt: skip

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
        ("bbops/compiler/check/bad.py", "yield Diagnostic(at, 'x', f\"'{name}' is no address\")\n"),
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


def test_no_file_has_more_places_than_listed() -> None:
    counts, bound = Counter(place.file for place in find_places()), allowed()
    more = [str(place) for place in find_places() if counts[place.file] > bound[place.file]]
    assert more == [], "rewrite the new places; docs/style.md has examples"


def test_the_list_has_no_number_that_is_too_high() -> None:
    counts = Counter(place.file for place in find_places())
    fewer = [file for file, number in allowed().items() if counts[file] < number]
    assert fewer == [], f"run '{COMMAND} --update'"


def test_the_list_is_sorted_and_has_no_clean_file() -> None:
    files = [line.rpartition(" ")[0] for line in ALLOWED.read_text("utf-8").splitlines()]
    assert files == sorted(set(files))
    assert [file for file in files if file.startswith(CLEAN)] == []


PLANTED = [
    ("docstring opens with a clause", '"""What is live."""\n'),
    ("docstring opens with a clause", 'def read():\n    """Return what the file holds."""\n'),
    ("docstring opens with a clause", 'class Driver:\n    """Its writer."""\n'),
    ("docstring opens with a clause", 'SIZE = 1\n"""As the default."""\n'),
    ("is no", '"""Fail if the text is no address."""\n'),
    ("is no", "# such columns are none here\n"),
    ("nobody, somebody", '"""Reject a token, whoever sends it."""\n'),
    ("clause as subject", '"""Sort them. What comes first wins."""\n'),
    ("told, said, asked", "x = 1  # the client is told\n"),
    ("that of", '"""Return the lock, or that of the parent."""\n'),
    ("one that", '"""Drop a job, or one whose claim has ended."""\n'),
    ("private word", '"""Build the plan and begin\nanew."""\n'),
    ("class name", "class Told:\n    pass\n"),
    ("function name", "def beside():\n    pass\n"),
    ("test name", "def test_who_comes_late_waits():\n    pass\n"),
    ("variable", "for one in jobs:\n    run(one)\n"),
    ("variable", "names = [one.name for place, one in jobs]\n"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "code"), PLANTED)
def test_planted_place_is_found_in_code(kind: str, code: str) -> None:
    (place,) = scan_code(code).places
    assert place.kind == kind


@pytest.mark.parametrize(("kind", "line"), [
    ("is no", "A branch is no draft."),
    ("nobody, somebody", "It waits until somebody merges."),
    ("clause as subject", "- **What was pushed** goes live."),
    ("told, said, asked", "The user was asked."),
    ("that of", "The hash is that of the file."),
    ("one that", "A job, or one that waits."),
    ("private word", "The release serves on."),
])  # fmt: skip
def test_planted_place_is_found_in_a_page(kind: str, line: str) -> None:
    page = f"# Page\n\n{line}\n\n```console\n$ {line}\n```\n`{line}`\n"
    (place,) = scan_page(page)
    assert (place.line, place.kind) == (3, kind)


@pytest.mark.parametrize("code", [
    '"""Return the live release. There is no other. What is live stays."""\n',
    'text = "# nobody is told"\nfor job in jobs:\n    run(job)\n',
    'text = """\nthat of the\n"""\n',
    "def test_one() -> None:\n    pass\n",
])  # fmt: skip
def test_plain_words_and_data_are_not_places(code: str) -> None:
    assert scan_code(code).places == ()


def test_class_in_several_files_is_found(tmp_path: Path) -> None:
    for file in ("bbops/first.py", "server/second.py", "tests/third.py"):
        (tmp_path / file).parent.mkdir()
        (tmp_path / file).write_text("class Answer:\n    pass\n")
    places = find_places(tmp_path)
    assert {place.file for place in places} == {"bbops/first.py", "server/second.py"}
    assert {place.kind for place in places} == {"class in several files"}


def test_every_kind_has_advice_and_a_planted_place() -> None:
    assert {kind for kind, _ in PLANTED} | {"class in several files"} == set(ADVICE)


def test_update_lowers_a_number_and_refuses_to_raise_one() -> None:
    places = [Place("b.py", 1, "is no", ""), Place("a.py", 2, "is no", "")]
    assert update(places, Counter({"a.py": 3, "b.py": 1, "c.py": 1})) == "a.py 1\nb.py 1\n"
    with pytest.raises(ValueError, match=r"more places than listed in a\.py"):
        update(places, Counter({"b.py": 1}))


def test_places_of_removed_files_may_move_to_others() -> None:
    places = [Place("a.py", 1, "is no", ""), Place("a.py", 2, "is no", "")]
    bound = Counter({"a.py": 1, "b.py": 1})
    assert update(places, bound, removed=["b.py"]) == "a.py 2\n"
    with pytest.raises(ValueError, match=r"a\.py"):
        update([*places, Place("a.py", 3, "is no", "")], bound, removed=["b.py"])


def test_higher_line_of_a_union_merge_is_used_until_the_update() -> None:
    merged = read_list("a.py 3\nb.py 5\na.py 4\nb.py 2\n")
    assert merged == {"a.py": 4, "b.py": 5}
    assert update([Place("a.py", 1, "is no", "")], merged) == "a.py 1\n"
