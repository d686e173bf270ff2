"""Every documented feature, and what of it validate says and something runs.

`python -m tests.support.features` prints the table. What runs is found out by running: projects
are built, tested, described and migrated, while each read of a model's key is noted with who reads
it. A key that only checks, editors and plans read does nothing.
"""

from __future__ import annotations

import asyncio
import inspect
import marshal
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from bbops.base import model as model_module
from bbops.base.host import Host
from bbops.base.model import Model
from bbops.compiler.check import CheckedProject
from bbops.compiler.compile.function import compile_function
from bbops.compiler.compile.release import _artifact, build
from bbops.compiler.compile.work import compile_work
from bbops.compiler.testing.running import Runner, choose
from bbops.database.migrate.migrate import apply
from bbops.interfaces.lsp.hover import about_key
from bbops.interfaces.lsp.schema import fields
from bbops.language.addons._base import kinds as addon_kinds
from bbops.language.addons._base import step_keys
from bbops.language.loading.load import kinds
from bbops.language.resources.addon import Addon, addon_model
from bbops.language.resources.trigger import Trigger
from bbops.language.sql.sqlite import SQLITE
from bbops.language.steps._base import Example, Step, find_step_kind, step_kinds
from bbops.review.contract.describe import describe, read_pages
from bbops.review.contract.files import FORMATS
from bbops.runtime.vendors import find_steps, link_addons
from bbops.source.tree import FolderTree, MemoryTree, Tree
from bbops_server.data_plane.live import swap
from bbops_server.process.messages.builds import BuildRelease
from bbops_server.publish.build.worker import BuildProcess
from tests.conftest import BESIDE, ROOT, TEMPLATE, sample
from tests.docs.examples import project_of, upcoming_files
from tests.docs.keys import ELSEWHERE, maps
from tests.support.feature_files import MORE
from tests.support.table_routes import table_route_keys

READERS = (
    "bbops.compiler.compile", "bbops.review.contract", "bbops.database", "bbops.compiler.testing",
    "bbops_server", "bbops.language.loading.likes", "bbops.language.resources._declared",
)  # fmt: skip
"""Packages that make something of what a project says. The last two make columns of what they are
like, and of tables what queries read."""
LOOKERS = (
    "bbops.compiler.check",
    "bbops.language.loading.load",
    "bbops.interfaces.lsp",
    "bbops.edit.authoring",
    "bbops.review.plan",
    "bbops.language.loading.recovery",
)
"""Packages that only judge, show or move it."""

NOTE = "for people"
"""What is said of keys that are read by people alone: that it stands there is what it does."""


_EMPTY = marshal.dumps({"calls": {}})
"""Stands for the code of a function."""

Key = tuple[str, str]
"""(model, key)."""


@dataclass(frozen=True)
class Feature:
    """One row of the table.

    Attributes:
        what: `kind`, `step` or `key`.
        speaks: validate says that this version does not run it.
        runs: something runs it.
    """

    what: str
    name: str
    speaks: bool
    runs: bool

    @property
    def is_silent(self) -> bool:
        """Whether it is accepted, and does nothing."""
        return not self.speaks and not self.runs

    def __str__(self) -> str:
        cells = ("not-supported" if self.speaks else "accepted", "runs" if self.runs else "-")
        return f"{self.what:5} {self.name:44} {cells[0]:14} {cells[1]}"


def features() -> list[Feature]:
    """Return every kind, step and key of the language."""
    return [*kind_features(), *step_features(), *key_features(), *table_route_features()]


# ---- rows
def kind_features() -> Iterator[Feature]:
    """Yield each resource kind: it runs where a release is another one without its files."""
    tree = MemoryTree(upcoming_files())
    project = build(tree, base=tree).project
    assert project is not None
    whole = made_of(project)
    for folder, model in kinds().items():
        without = project.having(folder, {}) if folder else None
        runs = without is None or made_of(without) != whole
        yield Feature("kind", folder or "project.yaml", not model.is_supported(), runs)


def without_webhooks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this version be one that checks the key `webhook` of triggers, and does not run it."""
    keys = model_module._unsupported_keys
    monkeypatch.setattr(
        model_module, "_unsupported_keys",
        lambda of: keys(of) | ({"webhook"} if of is Trigger else set()),
    )  # fmt: skip


def made_of(project: CheckedProject) -> tuple[Any, ...]:
    """Return what a project becomes: routes and settings, code, tables, cases of tests."""
    tables = {name: one.model for name, one in project.tables.items()}
    cases = [one.name for one in choose(project)]
    can_work = project.resources["functions"] and project.tables
    work = compile_work(project, SQLITE, lambda _: _EMPTY) if can_work else None
    return _artifact(project, [], SQLITE), work, sorted(project.functions), tables, cases


def step_features() -> Iterator[Feature]:
    """Yield each step: it runs where its code has an effect at a server."""
    for key in [*step_kinds(), *step_keys()]:
        kind = find_step_kind(key)
        assert kind is not None
        runs = _does_addon_step(key) if "." in key else _has_effect(kind.examples[0], key)
        yield Feature("step", key, not kind.is_supported(), runs)


def _does_addon_step(key: str) -> bool:
    """Return whether a release in which the addon is enabled has something that does the step."""
    addon, _, action = key.partition(".")
    linked = link_addons({addon: {"enabled": True, "config": {}}}, {})
    return callable(linked[addon].steps.get(action))


def _has_effect(example: Example, key: str) -> bool:
    """Return whether the code of an example only goes through doors that a server opens."""
    files = project_of(example) | BESIDE
    tree = MemoryTree(files)
    project = build(tree, base=tree).project
    assert project is not None, key
    name = "shown" if example.is_job else "run"
    uses = compile_function(project, name, project.flows.of(name), SQLITE)["uses"]
    return all(doors_of(target) <= open_doors() for target in uses.values())


def doors_of(target: str) -> set[str]:
    """Return the doors of the host that a function of the runtime goes through."""
    module, _, name = target.partition(":")
    if not module.startswith("bbops."):  # a filter or a function of expressions
        return set()
    found = getattr(import_module(module), name)
    source = inspect.getsource(found) if inspect.isfunction(found) else ""
    return set(re.findall(r"\bhost\.(\w+)", source)) & Host.__dataclass_fields__.keys()


@cache
def open_doors() -> set[str]:
    """Return the doors that the server's data plane opens, as its source makes the host."""
    (arguments,) = re.findall(r"\bHost\(([^)]*)\)", inspect.getsource(swap))
    given = [one.strip().partition("=") for one in arguments.split(",")]
    names = list(Host.__dataclass_fields__)
    return {one[0] if one[1] else names[at] for at, one in enumerate(given)}


def key_features() -> Iterator[Feature]:
    """Yield each key of each model, those beside every step once."""
    found: dict[Key, bool] = {}
    for model, is_supported in _models():
        for key, field in fields(model).items():
            if model is not Step and issubclass(model, Step) and key in fields(Step):
                continue
            speaks = not is_supported or key in unsupported_keys(model)
            is_constant = get_origin(field.annotation) is Literal and not _has_choice(field)
            is_note = key == "description" or NOTE in about_key(model, key).lower()
            if not is_note and not is_constant:
                name = (name_of(model), key)
                found[name] = found.get(name, True) and speaks
    for (model_name, key), speaks in found.items():
        runs = (model_name, key) in keys_read()
        yield Feature("key", f"{model_name}.{key}", speaks, runs)


def table_route_features() -> Iterator[Feature]:
    """Yield each key of files about a table, which become endpoints and functions."""
    for model, key, changes in table_route_keys():
        yield Feature("key", f"{model.__name__}.{key}", key in unsupported_keys(model), changes)


def _has_choice(field: FieldInfo) -> bool:
    return len(get_args(field.annotation)) > 1


def name_of(model: type[BaseModel]) -> str:
    """Return the name of a model; addons have a `Config` each, and steps of them parameters."""
    if issubclass(model, Addon):
        return "Addon"
    if model.__name__ == "Config":
        return f"{model.__module__.rpartition('.')[2]}.Config"
    return model.__name__


def unsupported_keys(model: type[BaseModel]) -> frozenset[str]:
    """Return the keys of a model that are told of."""
    return model.unsupported_keys() if issubclass(model, Model) else frozenset()


def _models() -> Iterator[tuple[type[BaseModel], bool]]:
    """Yield every model of the language, and whether what it belongs to is supported."""
    yield from ((one, True) for one in (Step, *ELSEWHERE))
    addons = [addon_model(name) for name in addon_kinds()]
    for top in [*kinds().values(), *addons, *step_kinds().values()]:
        yield top, top.is_supported()
        absent = unsupported_keys(top)
        for path, inner in maps(top):
            key = re.match(r"\w+", path)
            yield inner, top.is_supported() and (key is None or key[0] not in absent)


# ---- what is read
@cache
def keys_read() -> frozenset[Key]:
    """Return the keys that something reads that makes something of them."""
    with noting() as read, tempfile.TemporaryDirectory() as folder:
        for number, tree in enumerate(projects()):
            asyncio.run(_use(tree, Path(folder) / str(number)))
    return frozenset(read)


def projects() -> Iterator[Tree]:
    """Yield projects that use every key that there is."""
    yield MemoryTree(sample() | MORE)
    yield MemoryTree(sample() | enabled_addons())
    yield MemoryTree(upcoming_files())
    for kind in step_kinds().values():
        yield MemoryTree(project_of(kind.examples[0]) | BESIDE)
    golden = sorted((ROOT / "tests/golden/check").glob("ok-*/project"))
    for folder in (TEMPLATE, *sorted((ROOT / "tests/samples").iterdir()), *golden):
        yield FolderTree(folder)


def enabled_addons() -> dict[str, str]:
    """Return a file of each addon that this version runs, with every key of its settings."""
    return {
        f"addons/{name}.yaml": "enabled: true\nconfig:\n" + "".join(
            f"  {field.alias or key}: ${{ env.JWT_SECRET }}\n"
            for key, field in kind.config.model_fields.items()
        )
        for name, kind in addon_kinds().items() if find_steps(name) and kind.config.model_fields
    }  # fmt: skip


async def _use(tree: Tree, state: Path) -> None:
    built = build(tree, base=tree)
    assert built.project is not None, built.diagnostics
    state.mkdir()
    apply(state / "data.sqlite", {name: one.model for name, one in built.project.tables.items()})
    fresh = replace(built.project)  # what the check has looked up is looked up again
    _artifact(fresh, [], SQLITE)
    compile_work(fresh, SQLITE, lambda _: _EMPTY)
    for name in fresh.functions:
        compile_function(fresh, name, fresh.flows.of(name), SQLITE)
    contract = describe(fresh, read_pages(tree))
    for form in FORMATS.values():
        form.render(contract)
    if isinstance(tree, FolderTree):
        await _build_at_server(tree, state)
    with Runner(built) as runner:
        for chosen in choose(built.project):
            await runner.run(chosen)


async def _build_at_server(tree: FolderTree, state: Path) -> None:
    source = {"kind": "folder", "path": str(tree._root)}
    await BuildProcess().service.handle(BuildRelease(source, str(state / "artifacts")))


@contextmanager
def noting() -> Iterator[set[Key]]:
    """While it lasts, note which keys of models are read by whom that makes something of them."""
    found, plain = set[Key](), Model.__getattribute__
    dump: Callable[..., Any] = Model.model_dump

    def read(self: Model, name: str) -> Any:
        if name in names and _is_of_reader():
            _note(found, type(self), name)
        return plain(self, name)

    def dumped(self: Model, **options: Any) -> Any:
        if _is_of_reader():
            for name in type(self).model_fields.keys() - set(options.get("exclude") or ()):
                _note(found, type(self), name)
                inner = plain(self, name)
                if isinstance(inner, Model):
                    inner.model_dump()
        return dump(self, **options)

    names = {name for model, _ in _models() for name in model.model_fields}
    Model.__getattribute__, Model.model_dump = read, dumped  # type: ignore[method-assign]
    try:
        yield found
    finally:
        del Model.__getattribute__, Model.model_dump


def _note(found: set[Key], model: type[BaseModel], name: str) -> None:
    field = model.model_fields.get(name)
    if field is not None:
        owner = Step if name in Step.model_fields and issubclass(model, Step) else model
        found.add((name_of(owner), field.alias or name))


def _is_of_reader() -> bool:
    """Return whether the nearest caller outside of models and steps makes something of a key."""
    frame = sys._getframe(2)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module.startswith(LOOKERS):
            return False
        if module.startswith(READERS):
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


def table(rows: list[Feature]) -> str:
    """Return the rows as text, with their count."""
    silent = [one for one in rows if one.is_silent]
    return "\n".join([*map(str, rows), f"{len(rows)} features, {len(silent)} accepted in silence"])


if __name__ == "__main__":
    print(table(features()))
