"""docs/language is what the models say, and what it shows validates, runs and leads somewhere."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from bbops.compiler.check import validate
from bbops.compiler.check._supported import find_unsupported_parts
from bbops.interfaces.cli._root_group import RootGroup
from bbops.language.loading.load import kinds
from bbops.language.steps._base import step_kinds
from bbops.source.tree import MemoryTree
from bbops.source.yaml.document import load
from tests.conftest import BOARD, PARTNERS, PROJECT, ROOT, Files, sample
from tests.docs.examples import PROJECT as EXAMPLE
from tests.docs.examples import example_files, files_of, upcoming_files
from tests.docs.pages import FOLDER, pages
from tests.support.unsupported import files_with_unsupported, others, told_of

PAGES = {
    path.relative_to(FOLDER).as_posix(): path.read_text() for path in sorted(FOLDER.rglob("*.md"))
}
BLOCKS = [
    (path, block)
    for path, text in [*PAGES.items(), ("../language.md", (ROOT / "docs/language.md").read_text())]
    for block in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
]
RUN = "method: POST\npath: /run\nfunction: run\nauthentication: JWT\ndescription: Tried out.\n"


def test_the_pages_are_those_of_the_models() -> None:
    """If not: run `python -m tests.docs` in the root of the repository."""
    wanted = pages()
    assert set(PAGES) == set(wanted)
    assert [path for path in PAGES if PAGES[path] != wanted[path]] == []


@pytest.mark.parametrize("path", PAGES)
def test_a_key_has_words_that_say_what_it_means(path: str) -> None:
    rows = re.findall(r"^\| `(\w+)` \|.*\| (.*) \|$", PAGES[path], re.MULTILINE)
    parameters = path.startswith("addons/")  # of steps: many have names that say all
    assert parameters or [key for key, words in rows if not words.strip(" °")] == []


@pytest.mark.parametrize("folder", kinds())
def test_the_example_has_a_file_of_each_kind(folder: str) -> None:
    assert files_of(folder)


def test_the_example_shows_each_step_or_its_page_does() -> None:
    assert all("```yaml" in PAGES[f"steps/{key}.md"] for key in step_kinds())


# ---- blocks
def files_with(page: str, path: str, text: str) -> Files:
    """Return the project in which a block of a page stands as a file of its own."""
    kinds_pages = {"crud.md", *(f"{model.__name__.lower()}.md" for model in kinds().values())}
    if page in kinds_pages:
        example = example_files()
        return example if path in example else upcoming_files()
    files = sample() | {path: text}
    if "realtime: board" in text:
        files["realtime/board.yaml"] = BOARD
    if "webhook: partners" in text:
        files["webhooks/partners.yaml"] = PARTNERS
    names = set(re.findall(r"env\.([A-Z_]+)", text))
    declared = "".join(f"  {name}: {{ secret: true }}\n" for name in sorted(names))
    files["project.yaml"] = PROJECT.replace("env:\n", f"env:\n{declared}")
    if path == "functions/run.yaml":
        files["endpoints/run.yaml"] = RUN
        addons = {name.partition(".")[0] for name in re.findall(r"- (\w+\.\w+):", text)}
        files |= {f"addons/{name}.yaml": addon_file(name) for name in addons}
    if path == "functions/job.yaml":
        files["tasks/job.yaml"] = "every: 1h\nfunction: job\n"
    return files


def addon_file(name: str) -> str:
    blocks = re.findall(r"```yaml\n# addons/.*?\n(.*?)```", PAGES[f"addons/{name}.md"], re.DOTALL)
    text: str = re.sub(r"env\.[A-Z_]+", "env.JWT_SECRET", blocks[0])
    return text


@pytest.mark.parametrize(("page", "block"), BLOCKS, ids=lambda text: text.partition("\n")[0])
def test_a_block_validates_and_only_what_is_not_run_is_told(page: str, block: str) -> None:
    first, _, text = block.partition("\n")
    path = first.removeprefix("# ")
    files = files_with(page, path, text)
    assert load(files[path].encode()).root == load(text.encode()).root
    if page == "../language.md":
        files |= dict(named(block) for where, block in BLOCKS if where == page)
    _, diagnostics = validate(MemoryTree(files))
    assert others(diagnostics) == []
    assert told_of(diagnostics) == files_with_unsupported(files)


def test_upcoming_holds_each_kind_that_is_not_run_and_none_that_is() -> None:
    """If not: move the files of a kind that now runs to docs/example."""
    folders = {path.partition("/")[0] for path in upcoming_files().keys() - example_files().keys()}
    absent = find_unsupported_parts()
    partly = {key.partition(".")[0] for key in absent.keys}
    assert folders - {"functions", "tests", "addons", "triggers"} == {*absent.kinds} | partly
    assert told_of(validate(MemoryTree(example_files()))[1]) == []


def named(block: str) -> tuple[str, str]:
    """Return the path in a block's first line, and the text below it."""
    first, _, text = block.partition("\n")
    return first.removeprefix("# "), text


@pytest.mark.parametrize("path", PAGES)
def test_what_is_sent_and_answered_is_json(path: str) -> None:
    """That it is sent and answered so is told by tests/language/test_steps.py."""
    for block in re.findall(r"```json\n(.*?)```", PAGES[path], re.DOTALL):
        json.loads(block)


def test_the_example_passes_its_tests_as_the_page_shows() -> None:
    (shown,) = re.findall(r"```console\n\$ bbops (.*)\n…\n(.*) …\n", PAGES["README.md"])
    arguments = shown[0].replace("docs/example", str(EXAMPLE)).split()
    result = CliRunner().invoke(RootGroup("bbops"), arguments)
    assert (result.exit_code, shown[1] in result.stdout) == (0, True), result.stdout


def test_the_example_is_formatted() -> None:
    assert CliRunner().invoke(RootGroup("bbops"), ["fmt", "--check", str(EXAMPLE)]).exit_code == 0


# ---- links
MARKDOWN = sorted([*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"])


@pytest.mark.parametrize("path", MARKDOWN, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_link_leads_to_a_file_and_its_heading(path: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text()):
        if "://" in target:
            continue
        file, _, heading = target.partition("#")
        found = (path.parent / file) if file else path
        assert found.exists(), target
        assert not heading or heading in anchors(found.read_text()), target


def anchors(text: str) -> set[str]:
    lines = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", line.lower()).replace(" ", "-") for line in lines}


def test_the_overview_leads_to_every_kind_and_step() -> None:
    text = (ROOT / "docs/language.md").read_text()
    wanted = [path for path in PAGES if not path.startswith("addons/")]
    assert [path for path in wanted if f"(language/{path})" not in text] == []
