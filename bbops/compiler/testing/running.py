"""Run the cases of a project's tests: each on a database of its own, with the world standing still.

A case that fails runs a second time under a tracer, which tells the steps; the clock stands and
ids are counted, so it takes the same way.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from time import perf_counter
from types import TracebackType
from typing import Any, Self

from bbops.base.diagnostics import Place
from bbops.base.errors import BbopsError
from bbops.base.host import Host, Realtime
from bbops.base.model import Model
from bbops.compiler.compile.release import Built
from bbops.compiler.compile.row_events import find_row_events
from bbops.compiler.testing.agents import ask_agent
from bbops.compiler.testing.client import Client
from bbops.compiler.testing.cut import CutDatabase
from bbops.compiler.testing.databases import Fresh, databases
from bbops.compiler.testing.environment import make_environment
from bbops.compiler.testing.expecting import found_work, wrong_work
from bbops.compiler.testing.host import KeptEvents, KeptFiles, KeptLog, StillClock, fake_host
from bbops.compiler.testing.mocks import Mocks
from bbops.compiler.testing.outcome import Answer, Outcome, Wrong
from bbops.compiler.testing.requests import ask_endpoint, ask_function
from bbops.compiler.testing.rows import WrongRow
from bbops.compiler.testing.tracing import Tracer
from bbops.compiler.testing.values import (
    compute,
    differences,
    plain,
    shown,
    typed_event,
    typed_rows,
)
from bbops.compiler.testing.working import Working, ask_work, coming_events, event_of, read_tables
from bbops.database.open import work_dialect
from bbops.language.project import Project, Resource
from bbops.language.resources.test import Case, Test
from bbops.language.steps._base import step_kinds
from bbops.runtime.linking.release import link
from bbops.runtime.linking.work import link_work
from bbops.runtime.values.failures import Failure

IDS_FROM = 1_000_000
"""Generated ids of a test begin behind this number."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """One case of one test."""

    test: Resource[Test]
    at: int

    @property
    def case(self) -> Case:
        """The case itself."""
        return self.test.model.cases[self.at]

    @property
    def name(self) -> str:
        """How it is called on the command line."""
        return f"{self.test.name}::{self.case.name}"


def choose(project: Project, pattern: str = "") -> list[Chosen]:
    """Return the cases whose name holds a text or matches a pattern with `*`, in order."""
    every = [
        Chosen(test, at)
        for _, test in sorted(project.tests.items()) for at in range(len(test.model.cases))
    ]  # fmt: skip
    pattern = pattern.removeprefix("tests/").replace(".yaml", "")
    return [
        one for one in every
        if pattern in one.name or fnmatchcase(one.name, pattern)
    ]  # fmt: skip


class Runner:
    """Holds what all cases share: the compiled release, and what makes their databases."""

    def __init__(self, built: Built, url: str = "") -> None:
        """Take a project that was built without errors. Use as a context manager.

        Args:
            url: of a PostgreSQL database in which each case has a schema; else they have files
                of SQLite. The project was built for the same.
        """
        if built.project is None:
            raise ValueError("a project with errors cannot be tested")
        self.project, self.artifact, self._url = built.project, built.artifact, url
        self.env = dict(make_environment(self.project))

    def __enter__(self) -> Self:
        tables = {name: one.model for name, one in self.project.tables.items()}
        row_events = find_row_events(self.project)
        self._databases = databases(tables, self._url, row_events)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self._databases.close()

    async def run(self, chosen: Chosen) -> Outcome:
        """Run one case."""
        began = perf_counter()
        tracer = self._tracer()
        attempt = await self._try(chosen, tracer)
        if not attempt.wrong and chosen.case.crash:
            await self._crash(chosen, tracer, attempt)
        wrong, seconds = attempt.wrong, perf_counter() - began
        place = chosen.test.place("cases", chosen.at)
        if not wrong:
            return Outcome(chosen.test.name, chosen.case.name, place, seconds)
        if attempt.cut:  # it is right where nothing crashes
            return Outcome(
                chosen.test.name, chosen.case.name, place, seconds, tuple(wrong),
                attempt.told(tracer), log=tuple(attempt.log),
            )  # fmt: skip
        attempt = await self._try(chosen, tracer, watched=True)
        return Outcome(
            chosen.test.name, chosen.case.name, place, seconds, tuple(wrong),
            attempt.told(tracer), tuple(tracer.steps), tuple(attempt.log),
        )  # fmt: skip

    def _tracer(self) -> Tracer:
        declared = self.project.settings.model.env
        secrets = [self.env[name] or "" for name, one in declared.items() if one.secret]
        return Tracer(self.project, secrets)

    async def _crash(self, chosen: Chosen, tracer: Tracer, whole: _Attempt) -> None:
        """Run a case once for each commit of its jobs, and end the process right behind it."""
        for cut in range(1, whole.commits + 1):
            other = await self._try(chosen, tracer, cut=cut)
            table = next((one for one in whole.rows if whole.rows[one] != other.rows.get(one)), "")
            if other.wrong or table:
                what = other.wrong[0].message if other.wrong else f"table '{table}' differs"
                whole.cut = cut
                whole.say(f"a crash behind commit {cut} changes what happens: {what}", "crash")
                return

    async def _try(
        self, chosen: Chosen, tracer: Tracer, *, watched: bool = False, cut: int = 0
    ) -> _Attempt:
        attempt = _Attempt(self.project, chosen, tracer)
        async with (
            self._databases.fresh() as database,
            self._serving(database, attempt, cut) as client,
        ):
            if await attempt.prepare(database):
                await attempt.ask(client, watched=watched)
                await attempt.look()
        return attempt

    @asynccontextmanager
    async def _serving(
        self, database: Fresh, attempt: _Attempt, cut: int
    ) -> AsyncIterator[Client]:  # fmt: skip
        door, clock = CutDatabase(database.door, cut), StillClock()
        if attempt.case.at is not None:
            clock.moment = datetime.fromisoformat(attempt.case.at).astimezone(UTC)
        host = fake_host(
            door, attempt.mocks, ids_from=IDS_FROM, http=attempt.mocks, files=KeptFiles(),
            clock=clock,
        )  # fmt: skip
        attempt.published, attempt.database = host.realtime, door
        if attempt.works:
            attempt.working = Working(door, work_dialect(database.door), clock)
            host = attempt.working.host(host)
        attempt.host = host
        release = link(self.artifact, name="test", host=host, env=self.env, detailed=True)
        if attempt.working is not None:
            attempt.working.use(link_work(self.artifact, release))
        yield Client(release, database.door)
        release.close()


class _Attempt:
    """One run of one case, and what is wrong with it."""

    host: Host
    database: CutDatabase
    published: Realtime | None = None
    working: Working | None = None

    def __init__(self, project: Project, chosen: Chosen, tracer: Tracer) -> None:
        self.project, self.chosen, self.tracer = project, chosen, tracer
        self.test, self.case = chosen.test, chosen.case
        self.mocks = Mocks({})
        self.wrong: list[Wrong] = []
        self.answer: Answer | None = None
        self.rows: dict[str, list[str]] = {}
        self.commits = self.cut = 0

    @property
    def works(self) -> bool:
        """Whether jobs run in this case."""
        model = self.test.model
        return bool(model.trigger or model.task or model.agent or self.case.work == "run")

    @property
    def log(self) -> Iterator[str]:
        """What the function logged."""
        log = self.host.log
        for level, message, data in log.lines if isinstance(log, KeptLog) else ():
            yield f"{level}: {self.tracer.mask(str(message))} ({data.get('step', '')})"

    def told(self, tracer: Tracer) -> str:
        """Return the answer as one line."""
        if self.answer is None:
            return ""
        return f"{self.answer.status} {shown(tracer.mask(self.answer.value))}"

    def say(self, message: str, *path: str | int) -> None:
        """Note what is wrong; `path` leads to the expectation below the case."""
        self.wrong.append(Wrong(self._place(*path), message))

    def _place(self, *path: str | int) -> Place:
        return self.test.place("cases", self.chosen.at, *path)

    async def prepare(self, database: Fresh) -> bool:
        """Fill the database and compute the mocks; return whether that worked."""
        try:
            data = compute_all(self.test.model.data, self.host)
            mocks = {**self.test.model.mocks, **self.case.mocks}
            self.mocks.results = compute_all(mocks, self.host)
            self.mocks.model = None if self.case.model is None else [
                plain(compute(reply, self.host)) for reply in self.case.model
            ]  # fmt: skip
            await database.put(data, self.host)
            await database.door.change("DELETE FROM _bbops_outbox")  # rows are there, not new
        except WrongRow as error:
            place = self.test.place("data", error.table, error.number)
            self.wrong.append(Wrong(place, error.message))
        except Failure as error:
            self.say(f"cannot evaluate a value of the test: {error.message}")
        for name in self.mocks.results:
            self.mocks.calls.setdefault(name, [])
            if name in step_kinds() and name != "http":
                self.say(f"'{name}' runs on the test's own database and cannot be mocked")
        return not self.wrong

    async def ask(self, client: Client, *, watched: bool) -> None:
        """Run what the test is about and compare."""
        try:
            given = self._given()
            if watched:
                with self.tracer.watching():
                    self.answer = await self._ask(client, given)
            else:
                self.answer = await self._ask(client, given)
            await self.compare(client, self.answer)
        except (Failure, BbopsError) as error:
            self.say(error.message)

    async def _ask(self, client: Client, given: Mapping[str, Any]) -> Answer:
        model, follows = self.test.model, self.case.work == "run"
        if self.working is not None:
            self.working.coming = coming_events(self.case.events, self.host)
        if self.working is not None and model.agent is not None:
            agent = self.project.agents[model.agent]
            return await ask_agent(client, self.working, agent, self.case, given)
        if self.working is not None and (model.trigger or model.task):
            trigger = self.project.triggers.get(model.trigger or "")
            work = f"tasks/{model.task}" if trigger is None else f"triggers/{trigger.name}"
            if trigger is not None:
                await self.working.happen(*event_of(trigger, given["event"] or {}))
            return await ask_work(client, self.working, work, follows=follows)
        if model.function is not None:
            function = client.release.functions[model.function]
            answer = await ask_function(client, function, given)
        else:
            routes = self.project.routes
            route = next(one for one in routes if one.endpoint.name == model.endpoint)
            answer = await ask_endpoint(client, route, self.case, given)
        if self.working is not None:
            await self.working.work_off()
        return answer

    async def look(self) -> None:
        """Note what the case has left behind."""
        self.commits = self.database.commits
        if self.case.crash:
            self.rows = await read_tables(self.database, self.project.tables)

    def _given(self) -> dict[str, Any]:
        parts = (
            "auth", "api_key", "params", "query", "headers", "input", "event", "trigger",
        )  # fmt: skip
        given = {part: compute_all(getattr(self.case, part), self.host) for part in parts}
        function = self.test.model.function
        if function is not None and given["event"] is not None:
            given["event"] = typed_event(self.project, function, given["event"])
        if function is not None and given["trigger"] is not None:
            given["trigger"] = typed_rows(self.project, function, given["trigger"])
        return {**given, "input": None if given["input"] is None else plain(given["input"])}

    # ---- expectations
    async def compare(self, client: Client, answer: Answer) -> None:
        """Note every expectation that does not hold."""
        expect = self.case.expect
        for step in dict.fromkeys(self.mocks.missing):
            self.say(f"'{step}' was called, but no mock matches the call")
        if expect.status is not None and answer.status != expect.status:
            message = f"expected status {expect.status}, found {answer.status}{_why(answer)}"
            self.say(message, "expect", "status")
        elif expect.status is None and answer.status >= 500:
            self.say(f"the function failed with {answer.status}{_why(answer)}", "expect")
        if expect.value is not None:
            wanted = plain(compute(expect.value, self.host))
            for path, message in differences(wanted, answer.value, "", self.tracer.mask_field):
                self.say(f"value{'.' if path else ''}{path}: {message}", "expect", "value")
        self._compare_checks(answer)
        for table, count in expect.rows.items():
            ((found,),) = await client.database.read(f'SELECT count(*) FROM "{table}"')
            if found != count:
                message = f"expected {count} rows in '{table}', found {found}"
                self.say(message, "expect", "rows", table)
        await self._compare_work()
        self._compare_calls()
        self._compare_answers()

    def _compare_checks(self, answer: Answer) -> None:
        names = {"result": answer.value, "status": answer.status, "headers": answer.headers}
        for at, bare in enumerate(self.case.expect.check):
            path: Sequence[str | int] = ("expect", "check", at)
            try:
                found = compute(bare, self.host, names)
            except Failure as error:
                self.say(f"cannot evaluate the check: {error.message}", *path)
                continue
            if found is not True:
                self.say(f"expected true, found {shown(found)}: {self._text(at)}", *path)

    def _text(self, at: int) -> str:
        node: Any = self.test.document.root
        for part in ("cases", self.chosen.at, "expect", "check"):
            node = node[part]
        return str(node[at] if isinstance(node, list) else node)

    async def _compare_work(self) -> None:
        """Note what was not emitted, enqueued or published as expected, and what has failed."""
        kept = self.published if isinstance(self.published, KeptEvents) else KeptEvents()
        found = await found_work(self.working, kept)
        for message, *path in wrong_work(
            found, self.case.expect, self.host, self.tracer.mask_field
        ):
            self.say(message, "expect", *path)

    def _compare_answers(self) -> None:
        """Note answers of the model that are missing or left over."""
        if self.mocks.model is None:
            return
        count, asked = len(self.mocks.model), self.mocks.asked
        if asked > count or (asked < count and not self.wrong):
            answers = "1 answer" if count == 1 else f"{count} answers"
            self.say(f"'model' has {answers}, the agent asked for {asked}", "model")

    def _compare_calls(self) -> None:
        for step, each in self.case.expect.calls.items():
            wanted = [plain(compute(one, self.host)) for one in each]
            found = [plain(one) for one in self.mocks.calls.get(step, [])]
            for path, message in differences(wanted, found, "", self.tracer.mask_field):
                self.say(f"calls of '{step}'{path}: {message}", "expect", "calls", step)


def _why(answer: Answer) -> str:
    """Return what an automatic answer says of a failure."""
    error = answer.value.get("error") if isinstance(answer.value, dict) else None
    if not isinstance(error, dict):
        return ""
    fields = error.get("fields")
    told = fields if answer.status == 400 and fields else error.get("detail", error.get("message"))
    at = f" in {error['at']}" if error.get("at") else ""
    return f": {told if isinstance(told, str) else shown(told)}{at}"


def compute_all(given: Any, host: Host) -> Any:
    """Return a part of a test as plain values, with camelCase keys where it is a model."""
    if isinstance(given, Model):
        return {
            field.alias or name: compute_all(getattr(given, name), host)
            for name, field in type(given).model_fields.items()
        }
    if isinstance(given, dict):
        return {name: compute_all(value, host) for name, value in given.items()}
    if isinstance(given, list):
        return [compute_all(value, host) for value in given]
    return given if given is None or isinstance(given, str) else compute(given, host)
