"""`bbops fmt`: one style, and nothing of meaning or comment is lost."""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random

import pytest
import yaml
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from bbops.edit.authoring.formatting import format_file
from bbops.interfaces.cli._root_group import RootGroup
from bbops.source.yaml.document import load
from bbops.source.yaml.format import format_document, read_source
from bbops.source.yaml.layout import may_be_plain, quoted
from tests.conftest import ROOT, TEMPLATE

pytestmark = pytest.mark.quick

SAMPLES = [TEMPLATE, *sorted((ROOT / "tests/samples").glob("*"))]
FILES = sorted(path for folder in SAMPLES for path in folder.rglob("*.yaml"))


def fmt(*arguments: object, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(RootGroup("bbops"), ["fmt", *map(str, arguments)], input=stdin)


def formatted(text: str, path: str = "") -> str:
    if path:
        return format_file(path, text.encode()).text
    return format_document(read_source(text.encode()))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return Path(shutil.copytree(TEMPLATE, tmp_path / "project"))


@pytest.mark.parametrize("folder", SAMPLES, ids=lambda path: path.name)
def test_the_template_and_the_samples_have_our_style(folder: Path) -> None:
    result = fmt("--check", folder)
    assert (result.exit_code, result.stdout[:13]) == (0, "nothing to do")


def test_every_kind_of_disorder_becomes_our_style() -> None:
    before = (
        "# title\n\n\n# about a\nb:   # t\n    - 1    # u\n\n\n    - k: \"v\"\n      z: 'x: y'\n"
        "      # deep\n    # mid\n# out\nc: >2\n    x\na: {x: 1, y: [1,\n  2], # why\n  # own\n"
        '  z: "yes"}\nf: [ ]\nl:\n- - a\n  - b\n- q: 1\nd:\n'
    )
    after = (
        '# title\n\n# about a\nb:   # t\n  - 1    # u\n\n  - k: v\n    z: "x: y"\n'
        "    # deep\n  # mid\n# out\nc: >2\n    x\na:\n  x: 1\n  y:\n    - 1\n    - 2 # why\n"
        '  # own\n  z: "yes"\nf: []\nl:\n  - - a\n    - b\n  - q: 1\nd:\n'
    )
    assert formatted(before) == after
    assert formatted(after) == after


def test_keys_take_their_order_and_their_comments_along() -> None:
    before = "# The way in.\n\nfunction: a\nmethod: GET # reads\n# where\npath: /a\nchannel: web\n"
    after = "# The way in.\n\nchannel: web\nmethod: GET # reads\n# where\npath: /a\nfunction: a\n"
    assert formatted(before, "endpoints/a.yaml") == after


def test_the_action_of_a_step_comes_first() -> None:
    before = "steps:\n  # why\n  - as: x\n    find:\n      one: true\n      table: users\n"
    after = "steps:\n  # why\n  - find:\n      table: users\n      one: true\n    as: x\n"
    assert formatted(before, "functions/a.yaml") == after


def test_columns_and_variables_keep_their_order() -> None:
    text = "columns:\n  b: { type: string }\n  type: { type: string }\n  a: { type: string }\n"
    assert formatted(text, "tables/a.yaml") == text


def test_quotes_stay_where_a_reader_of_older_yaml_needs_them() -> None:
    text = 'a: "yes"\nb: "12:30"\nc: "2024-01-01"\nd: "- x"\ne: ""\nf: "1_000"\ng: "~"\n'
    assert formatted(text) == text


def test_quotes_go_where_nobody_needs_them() -> None:
    before = "a: 'word'\nb: \"two words\"\nc: { d: 'e' }\n"
    assert formatted(before) == "a: word\nb: two words\nc: { d: e }\n"


def test_in_brackets_quotes_stay_where_a_brace_or_comma_would_end_the_text() -> None:
    kept = """a: { b: "${ vars.x }", c: "x[0]", d: "a, b", e: "vars.x?.y", f: "a: b", g: "#a" }\n"""
    assert formatted(kept) == kept
    before = """a: { where: "done == (id > 1 | f)", of: 'a == "x"', to: 'x != null' }\n"""
    assert (
        formatted(before)
        == """a: { where: done == (id > 1 | f), of: 'a == "x"', to: x != null }\n"""
    )


def test_line_ends_become_lf_and_the_last_line_ends() -> None:
    assert formatted("a: 1\r\nb: |\r\n  x\r\n\r\nc: 2") == "a: 1\nb: |\n  x\n\nc: 2\n"
    assert formatted("b: |\n  no line end behind this") == "b: |-\n  no line end behind this\n"


def test_a_long_list_in_brackets_that_was_broken_is_written_in_lines() -> None:
    words = ",\n  ".join(f"word{number}" for number in range(20))
    assert formatted(f"a: [{words}]\n").startswith("a:\n  - word0\n  - word1\n")


KEYS = st.sampled_from(["a", "b", "on", "x y", "1"])
SCALARS = st.one_of(
    st.text(st.sampled_from("ab :#'\"-\\{}[],&*!|>%@`~\n\t1.é"), max_size=8),
    st.integers(-(2**63), 2**63 - 1),
    st.booleans(),
    st.none(),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.long
@given(st.dictionaries(KEYS, VALUES, min_size=1, max_size=4), st.booleans(), st.integers(1, 6))
def test_any_values_survive(value: dict[str, object], flow: bool, indent: int) -> None:
    text = yaml.safe_dump(value, default_flow_style=flow, indent=indent, allow_unicode=True)
    if load(text.encode()).problems:
        return
    once = formatted(text)
    assert formatted(once) == once


@given(st.sampled_from(FILES), st.randoms(use_true_random=False))
def test_comments_and_blank_lines_anywhere_survive(file: Path, chance: Random) -> None:
    lines = file.read_text().splitlines()
    for number in range(5):
        at = chance.randrange(len(lines) + 1)
        lines.insert(at, " " * chance.randrange(9) + chance.choice(["", f"# remark {number}"]))
    text = "\n".join(lines)
    document = read_source(text.encode())
    if document.problems or not isinstance(document.root, dict):
        return
    once = format_document(document)  # refuses by itself to lose a value or a comment
    assert formatted(once) == once


@given(st.text())
def test_a_text_in_quotes_is_that_text(text: str) -> None:
    document = load(f"a: {quoted(text)}\n".encode(errors="surrogatepass"))
    assert document.problems or document.root == {"a": text}


@given(st.text(st.sampled_from("ab :#'\"-\\{}[],&*!|>%@`~=<?.1/$()"), max_size=6))
def test_a_text_that_may_be_plain_is_that_text(text: str) -> None:
    if may_be_plain(text):
        assert load(f"a: {text}\nb:\n  - {text}\n".encode()).root == {"a": text, "b": [text]}
    if may_be_plain(text, in_brackets=True):
        assert load(f"a: [{text}, {text}]\n".encode()).root == {"a": [text, text]}


def test_files_are_rewritten_and_named(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = project / "endpoints/notes/list.yaml"
    wanted = file.read_text()
    file.write_text("\n\n".join(reversed(wanted.splitlines())))
    monkeypatch.chdir(project)
    assert fmt("--check").exit_code == 1
    result = fmt()
    assert (result.exit_code, result.stdout.splitlines()[0]) == (
        0, "formatted endpoints/notes/list.yaml",
    )  # fmt: skip
    assert load(file.read_bytes()).root == load(wanted.encode()).root
    assert fmt("--check", "endpoints").exit_code == 0


def test_a_file_that_is_no_yaml_is_named_and_left_alone(project: Path) -> None:
    bad = project / "functions/auth/me.yaml"
    bad.write_text("steps: [\n")
    other = project / "tables/notes.yaml"
    other.write_text(other.read_text().replace("columns:", "columns:   "))
    result = fmt(project)
    assert result.exit_code == 1
    assert "functions/auth/me.yaml:2:1: error:" in result.stdout
    assert "formatted" in result.stdout
    assert bad.read_text() == "steps: [\n"


def test_files_outside_the_kinds_are_not_touched(project: Path) -> None:
    stray = project / "docs/a.yaml"
    stray.parent.mkdir()
    stray.write_text("a:    1\n")
    assert fmt(project).exit_code == 0
    assert stray.read_text() == "a:    1\n"


def test_a_link_is_not_followed(project: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.yaml"
    outside.write_text("a:    1\n")
    (project / "functions/linked.yaml").symlink_to(outside)
    assert fmt(project).exit_code == 0
    assert outside.read_text() == "a:    1\n"


def test_an_editor_formats_by_stdin() -> None:
    text = b"path: /a\nmethod: GET\nfunction: a\n"
    result = fmt("--stdin", TEMPLATE / "endpoints/new.yaml", stdin=text)
    assert (result.exit_code, result.stdout) == (0, "method: GET\npath: /a\nfunction: a\n")
    result = fmt("--stdin", stdin=b"a: [\n")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "yaml-syntax" in result.stderr


def test_a_folder_without_a_project_is_refused(tmp_path: Path) -> None:
    result = fmt(tmp_path)
    assert result.exit_code == 2
    assert "project.yaml is missing in or above" in result.stderr
