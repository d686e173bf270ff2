"""The command line as a shell sees it: real processes, exit codes, both streams."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path

import click
import pytest

from bbops.interfaces.cli import check_python
from bbops.interfaces.cli._command_group import CommandGroup
from bbops.interfaces.cli._root_group import load_command, own_commands
from tests.conftest import ROOT
from tests.support.command_line import add_entry_points, bbops, environment

GOLDEN = ROOT / "tests/golden/cli/help.txt"
HEAVY = {"git", "httpx", "litestar", "pydantic", "rich", "sqlalchemy", "uvicorn"}

PLUGIN = {
    "chatty.py": '''
        """Say a lot."""
        import click
        @click.command()
        def command():
            for number in range(100_000):
                click.echo(f"line {number}")
        ''',
    "sleepy.py": '''
        """Sleep."""
        import time, click
        @click.command()
        def command():
            click.echo("ready")
            time.sleep(60)
        ''',
    "wrong.py": '''
        """Go wrong."""
        import click
        @click.command()
        def command():
            raise KeyError("a-secret")
        ''',
    "full.py": '''
        """Find the disk full."""
        import click
        @click.command()
        def command():
            raise OSError(28, "No space left on device", "data.sqlite")
        ''',
    "findings.py": '''
        """Find something."""
        import click
        @click.command()
        def command():
            return 1
        ''',
    "mistaken.py": '''
        """Raise a ProjectError."""
        import click
        from bbops.base.diagnostics import Diagnostic, Place
        from bbops.base.errors import ProjectError
        @click.command()
        def command():
            raise ProjectError([Diagnostic(Place("a.yaml", 2, 3), "odd", "this is odd", "mend it")])
        ''',
    "lacking.py": '"""Need what is not there."""\nimport not_installed_here\n',
}


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package that adds commands, and says when it is imported."""
    folder = tmp_path_factory.mktemp("plugin")
    package = folder / "added" / "inner"
    package.mkdir(parents=True)
    (folder / "added/__init__.py").write_text("print('imported')\n")
    for name, text in PLUGIN.items():
        (package / name).write_text(textwrap.dedent(text).lstrip())
    add_entry_points(folder, {Path(name).stem: f"added.inner.{Path(name).stem}" for name in PLUGIN})
    return folder


def test_version_is_one_line() -> None:
    done = bbops("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, "bbops 0.1.0\n", "")


def test_help_teaches(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    add_entry_points(tmp_path, declared["bbops.commands"])
    done = bbops("--help", env=environment(tmp_path))
    if request.config.getoption("--update-golden"):
        GOLDEN.write_text(done.stdout)
    assert done.stdout == GOLDEN.read_text()
    assert done.returncode == 0


def test_no_arguments_show_the_help_and_exit_with_2() -> None:
    done = bbops()
    assert done.returncode == 2
    assert "First steps:" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("arguments", [["--version"], ["--help"]])
def test_start_imports_nothing_heavy(arguments: list[str]) -> None:
    program = (
        "import sys; from bbops.interfaces.cli import main\n"
        "try: main()\n"
        "except SystemExit: print('loaded', *sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env=environment(), capture_output=True, text=True, check=True,
    )  # fmt: skip
    loaded = done.stderr.rpartition("loaded ")[2].split()
    assert "click" in loaded
    assert HEAVY.isdisjoint(loaded)


def test_help_of_every_own_command_works() -> None:
    for name in ("init", "validate", "status", "lsp"):
        done = bbops(name, "-h")
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(f"Usage: bbops {name}")


@pytest.mark.parametrize("family", ["drafts", "users", "keys"])
def test_a_family_says_whole_sentences_of_its_commands(family: str) -> None:
    told = bbops(family, "--help").stdout.rpartition("Commands:")[2]
    assert "..." not in told
    assert re.search(r"^  list +List the ", told, re.MULTILINE)


@pytest.mark.parametrize(
    ("noun", "command"),
    [
        *((noun, "list") for noun in (
            "addon", "agents", "deliveries", "drafts", "env", "events", "frontend", "hooks",
            "jobs", "keys", "proposals", "receivers", "tasks", "users",
        )),
        ("workspace", "show"), ("mcp", "status"),
    ],
)  # fmt: skip
def test_a_bare_noun_runs_its_list(tmp_path: Path, noun: str, command: str) -> None:
    nowhere = environment(tmp_path) | {"BBOPS_SERVER": "http://127.0.0.1:9"}
    bare, named = (
        bbops(noun, *words, "--json", cwd=tmp_path, env=nowhere) for words in ([], [command])
    )
    assert (bare.returncode, bare.stdout, bare.stderr) == (
        named.returncode, named.stdout, named.stderr,
    )  # fmt: skip
    assert "Usage:" not in bare.stdout + bare.stderr


def test_every_noun_that_lists_does_so_without_a_command() -> None:
    groups = {
        name: command for name, module in own_commands().items()
        if isinstance(command := load_command(name, module), click.Group)
    }  # fmt: skip
    assert {name for name, group in groups.items() if "list" not in group.commands} <= {
        "ci", "contract", "db", "mcp", "workspace",
    }  # fmt: skip
    assert all(isinstance(group, CommandGroup) for group in groups.values())


def test_an_added_command_is_listed_without_importing_it(plugin: Path) -> None:
    done = bbops("--help", env=environment(plugin))
    assert "More:" in done.stdout
    assert re.search(r"^  sleepy +Sleep$", done.stdout, re.MULTILINE)
    assert "imported" not in done.stdout


def test_an_added_command_runs_and_its_number_is_the_exit_code(plugin: Path) -> None:
    done = bbops("findings", env=environment(plugin))
    assert (done.returncode, done.stdout) == (1, "imported\n")


def test_an_added_command_that_cannot_be_imported_says_which(plugin: Path) -> None:
    done = bbops("lacking", env=environment(plugin))
    assert done.returncode == 2
    assert "error: command 'lacking' cannot be loaded: No module named" in done.stderr
    assert "hint: reinstall the package that provides 'added.inner.lacking' again" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_unknown_command_suggests_a_near_one() -> None:
    done = bbops("validat")
    assert done.returncode == 2
    assert done.stderr == ("error: no such command 'validat'\n    hint: did you mean 'validate'?\n")


@pytest.mark.parametrize(("said", "meant"), [("create", "issue"), ("delete", "revoke")])
def test_a_usual_word_for_a_command_of_a_family_names_the_command(said: str, meant: str) -> None:
    done = bbops("keys", said)
    assert done.returncode == 2
    assert done.stderr == (
        f"error: no such command '{said}'\n    hint: did you mean 'bbops keys {meant}'?\n"
    )


def test_an_unknown_command_without_a_near_one_points_to_the_help() -> None:
    done = bbops("xyz")
    assert done.stderr == "error: no such command 'xyz'\n    hint: see 'bbops --help'\n"


def test_an_unknown_option_suggests_a_near_one() -> None:
    done = bbops("validate", "--fromat", "json")
    assert done.returncode == 2
    assert done.stderr == "error: no such option '--fromat'\n    hint: did you mean '--format'?\n"


def test_a_wrong_choice_lists_the_choices() -> None:
    done = bbops("validate", "--format", "xml")
    assert done.returncode == 2
    assert "'xml' is not one of 'text', 'json', 'github', 'sarif'\n" in done.stderr
    assert "hint: see 'bbops validate --help'" in done.stderr


def test_a_bug_is_one_line_that_names_no_value(plugin: Path) -> None:
    done = bbops("wrong", env=environment(plugin))
    assert done.returncode == 2
    assert done.stderr == (
        "error: KeyError: this is a bug in bbops; set BBOPS_DEBUG=1 to see the traceback\n"
    )


def test_a_bug_shows_its_traceback_when_asked(plugin: Path) -> None:
    done = bbops("wrong", env=environment(plugin, BBOPS_DEBUG="1"))
    assert done.returncode == 2
    assert "Traceback" in done.stderr
    assert "a-secret" in done.stderr


def test_what_the_system_refuses_is_no_bug(plugin: Path) -> None:
    done = bbops("full", env=environment(plugin))
    assert done.returncode == 2
    assert done.stderr == ("error: the system refused 'data.sqlite': no space left on device\n")


def test_a_project_error_prints_its_diagnostics_and_exits_with_1(plugin: Path) -> None:
    done = bbops("mistaken", env=environment(plugin))
    assert done.returncode == 1
    assert done.stderr == "a.yaml:2:3: error: this is odd [odd]\n    hint: mend it\n1 error\n"


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_ctrl_c_is_quiet_and_exits_with_130(plugin: Path) -> None:
    command = [sys.executable, "-u", "-m", "bbops", "sleepy"]
    # what a shell starts in the background ignores Ctrl-C, and so do its children
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    with subprocess.Popen(
        command, env=environment(plugin), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        signal.signal(signal.SIGINT, before)
        assert process.stdout is not None
        while process.stdout.readline() != b"ready\n":
            pass
        process.send_signal(signal.SIGINT)
        _, complaint = process.communicate(timeout=10)
    assert process.returncode == 130
    assert complaint.strip() == b""


@pytest.mark.skipif(os.name == "nt", reason="POSIX pipes")
def test_a_closed_pipe_is_quiet(plugin: Path) -> None:
    command = [sys.executable, "-m", "bbops", "chatty"]
    with subprocess.Popen(
        command, env=environment(plugin), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr is not None
        complaint = process.stderr.read()
        process.wait(timeout=10)
    assert process.returncode == 141
    assert complaint == b""


def test_text_that_the_terminal_cannot_show_is_escaped(tmp_path: Path) -> None:
    done = bbops("init", str(tmp_path / "日本"), env=environment(PYTHONIOENCODING="latin-1:strict"))
    assert done.returncode == 0, done.stderr
    assert "\\u65e5\\u672c" in done.stdout


def test_an_old_python_is_named_with_the_cure() -> None:
    assert check_python((3, 11)) == ""
    assert check_python((3, 9)) == (
        "error: Python 3.9 is too old, expected 3.11 or newer\n"
        "    hint: reinstall bbops with Python 3.11 or newer"
    )
