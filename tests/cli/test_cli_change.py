"""`bbops new`, `mv`, `rm`, `copy` and `set`: whole changes, comments kept, or nothing."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from bbops.compiler.check import validate
from bbops.edit.authoring.changing import Change, as_yaml
from bbops.edit.authoring.folder import Folder
from bbops.edit.authoring.making import make
from bbops.edit.authoring.moving import move
from bbops.edit.authoring.naming import Name
from bbops.interfaces.cli._root_group import RootGroup
from bbops.source.tree import FolderTree
from bbops.source.yaml.document import load
from bbops.source.yaml.edit import CannotEdit, remove_key, set_value, splice
from tests.conftest import FRAGMENTS, ROOT, TEMPLATE

SAMPLES = sorted(path.parent for path in (ROOT / "tests/samples").glob("*/project.yaml"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(TEMPLATE, tmp_path / "project"))


def bbops(folder: Path, *arguments: str) -> Result:
    return CliRunner().invoke(RootGroup("bbops"), [*arguments, "--path", str(folder)])


def test_a_column_in_use_is_renamed_by_force_as_the_refusal_says(folder: Path) -> None:
    rename = ("mv", "tables/notes.title", "tables/notes.heading")
    assert "hint: use --force to rename it anyway" in bbops(folder, *rename).stderr
    assert bbops(folder, *rename, "--force").exit_code == 0
    assert "renamedFrom: title" in (folder / "tables/notes.yaml").read_text()


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*")) if path.is_file()
    }  # fmt: skip


def is_right(folder: Path) -> bool:
    return {one.code for one in validate(FolderTree(folder))[1]} <= FRAGMENTS


# ---- mv
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("functions/notes/create", "functions/notes/add"),
        ("functions/auth", "functions/people/auth"),
        ("functions/middleware/signed-in.yaml", "functions/guards/member.yaml"),
        ("channels/notes-v1", "channels/api"),
        ("endpoints/auth/login", "endpoints/sign-in"),
        ("tables/users", "tables/people"),
        ("tests/notes", "tests/all/notes"),
    ],
)
def test_a_rename_takes_every_reference_along(folder: Path, old: str, new: str) -> None:
    before = len(files(folder))
    result = bbops(folder, "mv", old, new)
    assert result.exit_code == 0, result.stderr
    assert "moved   " in result.stdout
    assert is_right(folder)
    assert len(files(folder)) == before
    assert CliRunner().invoke(RootGroup("bbops"), ["fmt", "--check", str(folder)]).exit_code == 0


def test_a_renamed_table_remembers_its_rows(folder: Path) -> None:
    bbops(folder, "mv", "tables/users", "tables/people")
    assert load((folder / "tables/people.yaml").read_bytes()).root["renamedFrom"] == "users"
    assert "references: people.id" in (folder / "tables/notes.yaml").read_text()


def test_a_rename_keeps_comments_and_spaces(folder: Path) -> None:
    endpoint = folder / "endpoints/notes/create.yaml"
    text = endpoint.read_text().replace("function:  ", "function: ") + "# the end\n"
    endpoint.write_text(text.replace("notes/create", "  'notes/create'   # why"))
    bbops(folder, "mv", "functions/notes/create", "functions/notes/add")
    assert endpoint.read_text() == text.replace("notes/create", "  notes/add   # why")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("mv", "functions/nots/get", "functions/x"), "did you mean 'notes/get'?"),
        (("mv", "functions/notes/get", "functions/notes/list"), "there is a 'functions/notes/lis"),
        (("mv", "functions/notes/get", "endpoints/x"), "the folder is its kind"),
        (("mv", "functions/notes/get", "functions/Get"), "is not a name of functions"),
        (("mv", "functions/notes/get", "functions/../../x"), "file-name"),
        (("mv", "function/notes/get", "functions/x"), "did you mean 'functions/'?"),
        (("copy", "endpoints/notes/get", "endpoints/other"), "duplicate-route"),
        (("copy", "functions/none", "functions/x"), "there is no 'functions/none.yaml'"),
        (("set", "endpoints/auth/me", "docsVisibility=hiden"), "did you mean 'hidden'?"),
        (("set", "endpoints/auth/me", "docsVisibility"), "expected KEY=VALUE"),
        (("set", "endpoints/auth/me"), "nothing to set"),
        (("set", "endpoints/auth/me", "method.x=1"), "'method' is not a map, so it has no 'x'"),
        (("set", "endpoints/auth/me", "--unset", "methd"), "there is no 'methd'"),
        (("set", "endpoints/auth/me", "--unset", "method"), "'method' is missing"),
        (("set", "functions/auth/login", "steps=[]"), "may contain comments"),
        (("new", "endpoint", "notes/get"), "there is a 'endpoints/notes/get.yaml' already"),
        (("new", "endpoit", "x"), "did you mean 'endpoint'?"),
        (("new", "addon", "emial"), "did you mean 'email'?"),
        (("new", "agent", "helper"), "create one with 'bbops new addon chatModel'"),
        (("new", "test", "nothing"), "no endpoint, function or agent 'nothing' to test"),
        (("new", "function", "../x"), "file-name"),
        (("rm", "tables/none"), "there is no 'tables/none.yaml'"),
    ],
)
def test_what_would_not_be_right_changes_nothing(
    folder: Path, arguments: tuple[str, ...], words: str
) -> None:
    before = files(folder)
    result = bbops(folder, *arguments)
    assert result.exit_code in {1, 2}
    assert words in result.stderr
    assert files(folder) == before


@pytest.mark.long
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_any_resource_of_the_samples_can_be_renamed(sample: Path) -> None:
    names = Change.open(sample).names()
    # of a table, relations may have the name; a part of the rest, for each takes two checks
    for name in [one for one in names if one.folder not in {"addons", "tables"}][
        :: len(names) // 9
    ]:
        change = Change.open(sample)
        move(change, name, Name(name.folder, f"{name.name}-renamed"))
        assert change.problems() == [], name


def test_an_old_mistake_elsewhere_is_no_hindrance(folder: Path) -> None:
    broken = folder / "functions/broken.yaml"
    broken.write_text("steps:\n  - call: { function: notes/get }\n  - fnd: {}\n")
    result = bbops(folder, "mv", "functions/notes/get", "functions/notes/one")
    assert result.exit_code == 0, result.stderr
    assert "function: notes/one" in broken.read_text()


# ---- rm
def test_what_is_named_elsewhere_stays(folder: Path) -> None:
    before = files(folder)
    result = bbops(folder, "rm", "functions/notes/get")
    assert result.exit_code == 1
    assert "is still used in 1 place:\n    endpoints/notes/get.yaml:4:11\n" in result.stderr
    assert files(folder) == before
    assert bbops(folder, "rm", "functions/notes/get", "--force").exit_code == 0
    assert set(before) - set(files(folder)) == {"functions/notes/get.yaml"}


def test_what_nothing_names_goes_with_its_empty_folder(folder: Path) -> None:
    bbops(folder, "new", "function", "lonely/one")
    result = bbops(folder, "rm", "functions/lonely/one")
    assert (result.exit_code, result.stdout) == (0, "removed functions/lonely/one.yaml\n")
    assert not (folder / "functions/lonely").exists()


# ---- copy
def test_a_channel_is_copied_with_its_endpoints(folder: Path) -> None:
    result = bbops(folder, "copy", "channels/notes-v1", "channels/notes-v2")
    assert result.exit_code == 0, result.stderr
    assert is_right(folder)
    channel = load((folder / "channels/notes-v2.yaml").read_bytes()).root
    assert channel["basePath"].endswith("/v2")
    made = sorted((folder / "endpoints/notes-v2/notes").glob("*.yaml"))
    assert len(made) == 5
    assert all(load(one.read_bytes()).root["channel"] == "notes-v2" for one in made)


def test_a_copy_may_differ(folder: Path) -> None:
    result = bbops(
        folder, "copy", "endpoints/auth/me", "endpoints/auth/self", "--set", "path=/api/self"
    )
    assert result.exit_code == 0, result.stderr
    assert "path: /api/self\n" in (folder / "endpoints/auth/self.yaml").read_text()


READS_MIDDLEWARE = "steps:\n  - return: { value: '${ vars.me }' }\n"


def test_a_function_that_reads_variables_of_middleware_is_copied_with_a_warning(
    folder: Path,
) -> None:
    (folder / "functions/notes/list.yaml").write_text(READS_MIDDLEWARE)
    result = bbops(folder, "copy", "functions/notes/list", "functions/notes/search")
    assert (result.exit_code, result.stdout) == (0, "made    functions/notes/search.yaml\n")
    assert result.stderr == (
        "warning: nothing runs function 'notes/search' yet, so variables of middleware are not"
        " checked in it\n"
    )
    found = validate(FolderTree(folder))[1]
    assert [one.code for one in found if one.place.file == "functions/notes/search.yaml"] == [
        "unused-function",
    ]  # fmt: skip


def test_a_variable_that_no_middleware_sets_is_unknown_in_a_copy(folder: Path) -> None:
    unknown = READS_MIDDLEWARE.replace("vars.me", "vars.you")
    (folder / "functions/notes/search.yaml").write_text(unknown)
    found = validate(FolderTree(folder))[1]
    assert "unknown-variable" in {
        one.code for one in found if one.place.file == "functions/notes/search.yaml"
    }


# ---- set
def test_a_key_is_set_in_its_place(folder: Path) -> None:
    file = folder / "endpoints/auth/me.yaml"
    file.write_text(file.read_text().replace("method: GET", "# reads\nmethod: GET # only"))
    result = bbops(folder, "set", "endpoints/auth/me", "timeout=5s", "docsVisibility=hidden")
    assert result.exit_code == 0, result.stderr
    assert file.read_text() == (
        "# reads\nmethod: GET # only\npath: /api/me\nfunction: auth/me\nauthentication: JWT\n"
        "description: The signed-in user.\ndocsVisibility: hidden\ntimeout: 5s\n"
    )
    bbops(folder, "set", "endpoints/auth/me", "--unset", "timeout", "path=/api/myself")
    assert "path: /api/myself\n" in file.read_text()
    assert "timeout" not in file.read_text()


def test_settings_and_inner_keys_are_set(folder: Path) -> None:
    result = bbops(
        folder, "set", "project", "auth.issuer=me: here", 'env.EXTRA={ default: "1" }',
        "env.JWT_SECRET.required=false", "database.durability=full",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    root = load((folder / "project.yaml").read_bytes()).root
    assert root["auth"]["issuer"] == "me: here"
    assert root["env"]["EXTRA"] == {"default": "1"}
    assert root["env"]["JWT_SECRET"]["required"] is False
    assert root["database"] == {"durability": "full"}


KEYS = st.sampled_from(["a", "b", "c"])
VALUES = st.sampled_from(["1", "word", "{ x: 1 }", "[1, 2]", '"q: q"', "null"])
SOURCES = st.sampled_from([
    "a: 1\nb: 2\n", "a:\n  b: 1 # one\n  c:\n    - x\n# end\n",
    "a: { b: 1, c: { a: 2 } }\nb: |\n  x\n\n",
    "a:\nb:\n  c:\n", "a: >-\n  long\n  text\nc: 'x'", "b:\n  - 1\n  - 2\nc: {}\n",
])  # fmt: skip


@given(SOURCES, st.lists(KEYS, min_size=1, max_size=3), VALUES)
def test_a_set_key_has_its_value_and_nothing_else_changes(
    source: str, path: list[str], value: str
) -> None:
    document = load(source.encode())
    try:
        text = splice(source, [set_value(document, tuple(path), value)])
    except CannotEdit:
        return
    after = load(text.encode())
    assert after.problems == ()
    expected = load(source.encode()).root
    node = expected
    for key in path[:-1]:
        node[key] = node.get(key) or {}
        node = node[key]
    node[path[-1]] = load(f"a: {value}\n".encode()).root["a"]
    assert after.root == expected
    assert text.count("#") == source.count("#")


@given(SOURCES, st.lists(KEYS, min_size=1, max_size=2))
def test_a_removed_key_is_gone_and_nothing_else(source: str, path: list[str]) -> None:
    document = load(source.encode())
    try:
        text = splice(source, [remove_key(document, tuple(path))])
    except CannotEdit:
        return
    expected = load(source.encode()).root
    node = expected
    for key in path[:-1]:
        node = node[key]
    del node[path[-1]]
    assert load(text.encode()).root == expected


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12))
def test_any_words_of_the_command_line_become_one_value(text: str) -> None:
    document = load(f"a: {as_yaml(text)}\n".encode())
    if document.problems:  # signs that no file may hold
        return
    assert list(document.root) == ["a"]


# ---- new
@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("endpoint", "notes/archive"), ("function", "notes/count"), ("table", "tags"),
        ("channel", "web-v1"), ("test", "notes/list"), ("tests", "auth/me"), ("addon", "payments"),
    ],
)  # fmt: skip
def test_what_is_made_is_right_and_in_our_style(folder: Path, kind: str, name: str) -> None:
    result = bbops(folder, "new", kind, name)
    assert result.exit_code == 0, result.stderr
    assert "made    " in result.stdout
    assert is_right(folder)
    assert CliRunner().invoke(RootGroup("bbops"), ["fmt", "--check", str(folder)]).exit_code == 0


def test_a_new_endpoint_is_one_file_unless_its_function_is_there(folder: Path) -> None:
    assert bbops(folder, "new", "endpoint", "notes/archive").stdout.count("made") == 1
    assert "steps:\n  - return:" in (folder / "endpoints/notes/archive.yaml").read_text()
    bbops(folder, "new", "function", "notes/count")
    bbops(folder, "new", "endpoint", "notes/count")
    assert "function: notes/count\n" in (folder / "endpoints/notes/count.yaml").read_text()
    assert is_right(folder)


def test_an_agent_takes_the_addon_that_is_there(folder: Path) -> None:
    for name in (Name("addons", "chatModel"), Name("agents", "helper")):
        change = Change(Folder(folder, FolderTree(folder)))
        make(change, name)
        change.apply(force=True)
    _, found = validate(FolderTree(folder))
    assert [str(diagnostic) for diagnostic in found] == []


@pytest.mark.parametrize(
    ("starts", "keys"),
    [
        ("{ chat: { authentication: JWT } }", {"name", "auth", "input", "model", "expect"}),
        ("{ schedule: 0 8 * * 1 }", {"name", "model", "expect"}),
        ("{ event: user.registered }", {"name", "event", "model", "expect"}),
    ],
)
def test_a_new_test_of_an_agent_passes(folder: Path, starts: str, keys: set[str]) -> None:
    assert bbops(folder, "new", "addon", "chatModel").exit_code == 0
    assert bbops(folder, "new", "agent", "helper").exit_code == 0
    assert bbops(folder, "set", "agents/helper", f"runsOn={starts}").exit_code == 0
    assert bbops(folder, "new", "test", "helper").exit_code == 0
    root = load((folder / "tests/helper.yaml").read_bytes()).root
    assert {*root["cases"][0]} == keys
    result = bbops(folder, "test", "helper")
    assert result.exit_code == 0, result.output


def test_an_agent_that_runs_on_rows_gets_no_test(folder: Path) -> None:
    bbops(folder, "new", "addon", "chatModel")
    bbops(folder, "new", "agent", "helper")
    starts = "{ database: { table: notes, operation: insert } }"
    assert bbops(folder, "set", "agents/helper", f"runsOn={starts}").exit_code == 0
    result = bbops(folder, "new", "test", "helper")
    assert result.exit_code == 2
    assert "a test cannot start agent 'helper'" in result.stderr
    assert not (folder / "tests/helper.yaml").exists()


def test_the_project_is_found_from_a_folder_in_it(folder: Path) -> None:
    assert bbops(folder / "functions/notes", "new", "function", "a").exit_code == 0
    assert (folder / "functions/a.yaml").is_file()
