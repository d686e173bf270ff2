"""Kill migrations of files and of schemas, and look at what is left of them."""

from __future__ import annotations

import multiprocessing
import os
import random
import secrets
import shutil
import signal
import sqlite3
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg

from bbops.database.migrate import migrate, rollout
from bbops.database.migrate.opened import read_tables
from bbops.database.schema import shape
from bbops.database.schema.place import Place, PostgresPlace
from bbops.language.resources.table import Table
from tests.support.changing import ROWS, SPEC, changed, end_of
from tests.support.changing_postgres import ROWS as POSTGRES_ROWS
from tests.support.migrating import declare, query, schema_of
from tests.support.patience import wait_for
from tests.support.table_changes import CASES

SEED = 20261121
MIGRATING = (
    "SELECT 1 FROM pg_stat_activity WHERE datname = current_database()"
    " AND application_name = 'bbops migration'"
)
OWN = {"_bbops_schema": "spec", "_bbops_notes": "text"}


def expand(place: Place, case: str) -> None:
    wanted = changed(CASES[case])
    rollout.expand(place, wanted, {rollout.plan(place, wanted).migration.hash})


def switch(place: Place, case: str) -> None:
    if rollout.plan(place, changed(CASES[case])).phases.switches:
        rollout.switch(place, "a release", until=time.monotonic() + 60)


PHASES: dict[str, Callable[[Place, str], object]] = {
    "expand": expand,
    "switch": switch,
    "settle": lambda place, _: rollout.settle(place, "a release"),
    "narrow": lambda place, _: rollout.narrow(place),
    "delete": lambda place, _: rollout.delete_hidden(place, "test"),
}


class Countdown:
    """Counts the statements of a process, and ends it at one."""

    left = 0

    @classmethod
    def step(cls) -> None:
        cls.left -= 1
        if not cls.left:
            os.kill(os.getpid(), signal.SIGKILL)


class KilledFile(sqlite3.Connection):
    def execute(self, *arguments: Any) -> sqlite3.Cursor:
        Countdown.step()
        return super().execute(*arguments)


class KilledSchema(psycopg.Connection[Any]):
    def execute(self, *arguments: Any, **more: Any) -> psycopg.Cursor[Any]:
        Countdown.step()
        return super().execute(*arguments, **more)


def work(place: Place, case: str, phases: list[str], kill_at: int, report: Path) -> None:
    """Go through phases, in a process of its own; report how many statements it took."""
    Countdown.left, connect = kill_at, sqlite3.connect
    sqlite3.connect = lambda *a, **k: connect(*a, **{**k, "factory": KilledFile})  # type: ignore[assignment]
    psycopg.connect = KilledSchema.connect
    for phase in phases:
        PHASES[phase](place, case)
    report.write_text(str(kill_at - Countdown.left))


@dataclass(frozen=True)
class State:
    """All that tells how far a database is; `made` may be there before the phase that needs it."""

    tables: Any
    own: Any
    made: frozenset[str] = frozenset()


class Ground(ABC):
    """One database for each run, all from the same tables and rows."""

    @abstractmethod
    def copy(self, name: str) -> Place:
        """Return a database with the tables and rows, in place of the last of that name."""

    @abstractmethod
    def close(self) -> None:
        """Leave nothing behind."""

    @abstractmethod
    def read(self, place: Place) -> State:
        """Return how far a database is."""

    @abstractmethod
    def end_of(self, place: Place, wanted: Mapping[str, Table]) -> Any:
        """Return the wanted tables of a database and their rows."""

    @abstractmethod
    def check_whole(self, place: Place) -> None:
        """Look for damage that a kill could leave."""

    @abstractmethod
    def check_clean(self, place: Place) -> None:
        """Look for what the last run should have taken away."""


class Files(Ground):
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.original = folder / "original.sqlite"
        migrate.apply(self.original, declare(SPEC))
        for statement in ROWS:
            query(self.original, statement)
        query(self.original, "PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Nothing: the folder goes by itself."""

    def copy(self, name: str) -> Path:
        for one in self.folder.glob(f"{name}.sqlite*"):
            one.unlink()
        path = self.folder / f"{name}.sqlite"
        shutil.copy(self.original, path)
        return path

    def read(self, place: Place) -> State:
        assert isinstance(place, Path)
        found = schema_of(place)
        there = sorted(OWN.keys() & {name for name, _ in found})
        return State(
            sorted(map(str, found)),
            [query(place, f"SELECT {OWN[name]} FROM {name}") for name in there],
        )

    def end_of(self, place: Place, wanted: Mapping[str, Table]) -> Any:
        assert isinstance(place, Path)
        return end_of(place, wanted)

    def check_whole(self, place: Place) -> None:
        assert isinstance(place, Path)
        assert query(place, "PRAGMA integrity_check") == [("ok",)]

    def check_clean(self, place: Place) -> None:
        """Nothing: a file is changed in transactions only."""


class Schemas(Ground):
    """Schemas of databases that are copied whole, which takes 10 ms."""

    def __init__(self, server: str) -> None:
        self.server, self.original = server, f"bbops_storm_{secrets.token_hex(4)}"
        self.databases: set[str] = set()
        original = self.make(self.original, "template1")
        migrate.apply(original, declare(SPEC))
        self.ask(original, *POSTGRES_ROWS)

    def make(self, name: str, template: str) -> PostgresPlace:
        self.databases.add(name)
        self.manage(
            f"DROP DATABASE IF EXISTS {name} WITH (FORCE)",
            f"CREATE DATABASE {name} TEMPLATE {template}",
        )
        return PostgresPlace(urlsplit(self.server)._replace(path=f"/{name}").geturl(), "storm")

    def manage(self, *statements: str) -> None:
        with psycopg.connect(self.server, autocommit=True) as live:
            for statement in statements:
                live.execute(statement.encode())

    def close(self) -> None:
        self.manage(*(f"DROP DATABASE {name} WITH (FORCE)" for name in self.databases))

    def copy(self, name: str) -> PostgresPlace:
        return self.make(f"{self.original}_{name}", self.original)

    def read(self, place: Place) -> State:
        # the server notices a little later that its client was killed
        wait_for(lambda: not self.ask(place, MIGRATING))
        with read_tables(place) as live:
            found = live.read()
            own = [live.ask(f"SELECT {text} FROM {name}") for name, text in sorted(OWN.items())]
        made = {
            str((name, index)) for name, table in found.items() for index in table.indexes.items()
        }
        tables = {name: replace(table, indexes={}) for name, table in found.items()}
        kept = "SELECT relname FROM pg_class WHERE relname LIKE '\\_before%' ORDER BY 1"
        made |= {name for (name,) in self.ask(place, kept)}
        return State(tables, own, frozenset(made))

    def end_of(self, place: Place, wanted: Mapping[str, Table]) -> Any:
        with read_tables(place) as live:
            found = live.read()
        return {
            name: (self.table(found[name], table), self.rows(place, name, table))
            for name, table in wanted.items()
        }

    def table(self, found: shape.Table, table: Table) -> Any:
        columns = {
            key: replace(column, default=None if table.columns[key].auto else column.default)
            for key, column in found.columns.items()
            if key in table.columns
        }
        return replace(found, columns=columns)

    def rows(self, place: Place, name: str, table: Table) -> Any:
        listed = ", ".join(
            f'"{key}"::text' for key, it in table.columns.items() if it.auto != "created"
        )
        return self.ask(place, f'SELECT {listed} FROM "{name}" ORDER BY {listed}')

    def check_whole(self, place: Place) -> None:
        """Nothing: the server is not killed."""

    def check_clean(self, place: Place) -> None:
        unproven = (
            "SELECT conname FROM pg_constraint WHERE NOT convalidated OR conname = '_bbops_filled'"
        )
        assert self.ask(place, unproven) == []
        assert self.ask(place, "SELECT 1 FROM pg_index WHERE NOT indisvalid") == []

    def ask(self, place: Place, *statements: str) -> list[Any]:
        assert isinstance(place, PostgresPlace)
        with closing(psycopg.connect(place.address, autocommit=True)) as live:
            for statement in statements:
                found = live.execute(statement.encode())
            return found.fetchall() if found.description else []


@dataclass(frozen=True)
class Story:
    """What one change of tables looks like when nobody is killed."""

    case: str
    states: list[State]
    statements: dict[str, int]
    seconds: float
    end: Any


class Storm:
    def __init__(self, ground: Ground, folder: Path) -> None:
        self.ground, self.random = ground, random.Random(SEED)
        self.report = folder / "statements"
        self.processes = multiprocessing.get_context("forkserver")
        self.processes.set_forkserver_preload([__name__])

    def tell(self, case: str) -> Story:
        """Go through all phases, and remember what each leaves behind."""
        place = self.ground.copy("whole")
        states, statements, end = [self.ground.read(place)], {}, None
        began = time.monotonic()
        for phase in PHASES:
            self.run(place, case, [phase], 0)
            statements[phase] = int(self.report.read_text())
            states.append(self.ground.read(place))
            if phase == "narrow":
                end = self.ground.end_of(place, changed(CASES[case]))
        return Story(case, states, statements, time.monotonic() - began, end)

    def run(
        self, place: Place, case: str, phases: list[str], kill_at: int, seconds: float = 60
    ) -> int:
        """Return how the process ended that went through phases, killed at a statement or then."""
        told = place, case, phases, kill_at, self.report
        process = self.processes.Process(target=work, args=told)
        process.start()
        process.join(seconds)
        process.kill()
        process.join()
        assert process.exitcode in {0, -signal.SIGKILL}
        return process.exitcode

    def check(self, story: Story, place: Place) -> None:
        """Look at what a kill has left, go on from there, and look at the end."""
        self.ground.check_whole(place)
        self.check_state(story, self.ground.read(place))
        for phase, go_on in PHASES.items():
            if phase == "delete":
                assert self.ground.end_of(place, changed(CASES[story.case])) == story.end
            go_on(place, story.case)
        assert self.ground.read(place) == story.states[-1]
        assert self.ground.end_of(place, changed(CASES[story.case])) == story.end
        self.ground.check_clean(place)

    def check_state(self, story: Story, found: State) -> None:
        states = zip(story.states, [*story.states[1:], story.states[-1]], strict=True)
        assert any(
            (found.tables, found.own) == (state.tables, state.own)
            and state.made <= found.made <= state.made | after.made
            for state, after in states
        ), "neither before a phase nor after it"
