"""What tests share: the project template, small projects as text, the --update-golden switch."""

from __future__ import annotations

import asyncio
import gc
import os
import re
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager
from functools import cache
from pathlib import Path
from typing import Any

import httpx._transports.default as httpx_default
import pytest
from hypothesis import settings

from bbops.compiler.testing.client import Client, serve
from bbops.source.tree import MemoryTree, Tree

pytest_plugins = [
    "tests.support.outcomes", "tests.support.postgres", "tests.support.browser",
    "tests.support.shop", "tests.vendors.fixtures",
]  # fmt: skip

# Without deadlines, since a busy machine is no mistake, and with the same examples for everybody:
# what fails is what was changed. `--hypothesis-profile=explore` looks for new ones.
settings.register_profile("same", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, print_blob=True)
settings.load_profile("same")

# The commands under test must not take a CI job that runs the tests for their own.
for variable in ("GITHUB_ACTIONS", "GITEA_ACTIONS", "FORGEJO_ACTIONS", "GITLAB_CI", "JENKINS_URL"):
    os.environ.pop(variable, None)

# Hundreds of processes start here: each would compile bbops again where nobody keeps byte code.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# A shell that runs the tests behind itself has them, and all they start, ignore Ctrl-C.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).parent.parent
TEMPLATE = ROOT / "project-template"

NOTES = """
columns:
  id: { type: integer, primaryKey: true, auto: increment }
  title: { type: string, maxLength: 40 }
  done: { type: boolean, default: false }
seed:
  - { id: 1, title: one, done: false }
  - { id: 2, title: two, done: true }
  - { id: 3, title: three, done: false }
"""

PROJECT = """
bbops: 1
name: sample
env:
  JWT_SECRET: { secret: true }
  GREETING: { default: hello }
auth:
  signingKey: ${ env.JWT_SECRET }
"""

BOARD = """
topic: boards/:id
authentication: None
events:
  note.added: { title: string }
"""

MAIL = """
enabled: true
config:
  apiKey: ${ env.JWT_SECRET }
  senderEmail: me@example.com
  senderName: Me
"""
"""An addon whose steps this version does not run."""

HELPER = """
description: Answers.
model: { addon: aiModel, name: gpt-large }
instructions: Answer questions.
tools: [double]
runsOn:
  chat: { authentication: JWT }
"""
"""An agent."""

PARTNERS = """
receivers: [{ url: https://partner.example.com/hooks, secret: "${ env.JWT_SECRET }" }]
events:
  note.added: { title: string }
"""
BESIDE: Files = {"realtime/board.yaml": BOARD, "webhooks/partners.yaml": PARTNERS}
"""What examples of steps need beside the sample."""

DOUBLE = """
input: { number: number }
steps:
  - return:
      value: ${ input.number * 2 }
"""

DOUBLED = """
description: So that something uses the function, and env.GREETING.
function: double
cases:
  - { name: twice, input: { number: 2 }, expect: { value: 4 } }
"""

ENV = {"JWT_SECRET": "a-test-key-of-more-than-32-characters"}

FRAGMENTS = frozenset({"unused-env", "unused-function"})
"""Codes of what nothing uses: a small project here has more than each test of it needs."""

Files = dict[str, str]
Serving = Callable[..., AbstractAsyncContextManager[Client]]


@pytest.fixture(scope="session", autouse=True)
def certificates_are_read_once() -> Iterator[None]:
    """A client reads all certificates anew, which takes 20 ms; tests make thousands of clients."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(httpx_default, "create_ssl_context", cache(httpx_default.create_ssl_context))
        yield


@pytest.fixture(scope="session", autouse=True)
def no_cache_of_the_user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What tests keep is nobody's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


def sample(**files: str) -> Files:
    """Return a small project; keywords are paths with `__` for `/`."""
    out = {"project.yaml": PROJECT, "tables/notes.yaml": NOTES, "functions/double.yaml": DOUBLE}
    out["tests/double.yaml"] = DOUBLED
    out |= {path.replace("__", "/") + ".yaml": text for path, text in files.items()}
    return out


def with_function(function: str, *, method: str = "POST", auth: str = "None") -> Files:
    """Return the sample project with one function, answered at /run."""
    endpoint = f"method: {method}\npath: /run\nfunction: run\nauthentication: {auth}\n"
    endpoint += "description: Tried out here.\n"
    return sample(functions__run=function, endpoints__run=endpoint)


@pytest.fixture
def serving(tmp_path: Path) -> Serving:
    """Serve a project of files in this process."""

    def start(
        files: Files, env: Files = ENV, **options: Any
    ) -> AbstractAsyncContextManager[Client]:
        return serve(MemoryTree(files), tmp_path / "data.sqlite", env, **options)

    return start


@pytest.fixture
def ask(serving: Serving) -> Callable[..., Any]:
    """Answer one request to a project of files, and close it again."""

    def once(
        files: Files, method: str, path: str, body: Any = None, base: Tree | None = None,
        **options: Any,
    ) -> Any:  # fmt: skip
        async def answer() -> Any:
            async with serving(files, base=base) as client:
                return await client.ask(method, path, body, **options)

        return run(answer())

    return once


def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine to its end."""
    return asyncio.run(coroutine)


LONGEST_FIRST = (
    "test_publishing_machine", "test_kill_storm", "test_mistakes", "test_migration_storm",
    "test_serve", "test_several_projects", "test_server_processes", "test_remote",
    "test_serve_answers", "test_db_restore", "test_db_backup", "test_gate", "test_check_again",
    "test_queries_by_property", "test_phases_served", "test_postgres_changes",
    "test_server_live", "test_serve_postgres",
    "test_people_commands", "test_db_seed", "test_cli_test", "test_git_transports",
    "test_slow_clients", "test_people_page", "test_serve_trouble",
)  # fmt: skip
"""Files that take longest: processes that share the work must not find them at its end."""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[object]:
    """Thousands of tests come to stay: looking for garbage among them takes seconds."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


STAGES = ("long", "browser", "install", "bench", "alone")
"""Markers of the tests of `.ci/long`; each of its stages names some with `-m`."""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Pass over files without a test of this stage: importing all of them takes seconds."""
    if not collection_path.name.startswith("test_"):
        return None
    wanted = [name for name in STAGES if re.search(rf"(?<!not ){name}", config.option.markexpr)]
    text = collection_path.read_text(encoding="utf-8")
    if wanted:
        marks = rf"mark\.({'|'.join(wanted)})\b|SLOW_DATABASES|\bshop:"  # or by a fixture
        return not re.search(marks, text) or None
    if "not long" not in config.option.markexpr:
        return None
    whole_file = rf"^pytestmark = .*mark\.({'|'.join(STAGES)})\b"
    return bool(re.search(whole_file, text, re.MULTILINE)) or None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    rank = {name: place for place, name in enumerate(LONGEST_FIRST)}
    items.sort(key=lambda item: rank.get(item.path.stem, len(rank)))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite expected output")
