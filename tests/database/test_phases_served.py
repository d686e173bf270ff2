"""Tables change behind the back of clients: real git, a real server, real HTTP."""

from __future__ import annotations

import signal
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import pytest

from bbops_server.publish.holds.approvals import read_waiting
from tests.support.database_commands import Commands
from tests.support.migrating import query
from tests.support.patience import wait_for
from tests.support.served import Served, git
from tests.support.small_project import FILES, write_project

pytestmark = pytest.mark.long

KILLS = 6
NOTES = FILES["tables/notes.yaml"]
RENAMED = {
    "tables/notes.yaml": NOTES.replace(
        "title: { type: string }", "name: { type: string, renamedFrom: title }"
    ),
    "functions/add.yaml": FILES["functions/add.yaml"].replace("{ title: '$", "{ name: '$"),
}


BACK = {
    "tables/notes.yaml": NOTES.replace(
        "title: { type: string }", "title: { type: string, renamedFrom: name }"
    ),
    "functions/add.yaml": FILES["functions/add.yaml"],
}


def with_columns(*lines: str) -> dict[str, str]:
    """Return the table of notes with more columns."""
    return {"tables/notes.yaml": NOTES + "".join(f"  {line}\n" for line in lines)}


class Place:
    """A served project of one table."""

    def __init__(self, tmp_path: Path, workers: int = 1) -> None:
        self.state, self.folder = tmp_path / "state", tmp_path / "project"
        self.workers = str(workers)
        write_project(self.folder)
        git(self.folder, "init", "-q", "-b", "main")
        git(self.folder, "add", "-A")
        git(self.folder, "commit", "-qm", "Start")
        self.home = tmp_path / "home"
        self.served = self.start()
        try:
            self.served.live()
        except BaseException:
            self.served.stop()
            raise
        self.commands = Commands(tmp_path, tmp_path / "commands")
        self.data = self.state / "data.sqlite"

    def start(self) -> Served:
        state = ("--state", str(self.state))
        return Served(self.folder, self.home, *state, "--workers", self.workers)

    def commit(self, changes: dict[str, str]) -> str:
        write_project(self.folder, changes)
        return self.served.commit()

    def publish(self, changes: dict[str, str]) -> list[str]:
        """Commit, wait until it is live, and return the changes of tables."""
        release = self.commit(changes)[:12]
        live = self.served.live()
        assert live["release"] == release
        changes_made: list[str] = live["changes"]
        return changes_made

    def add(self, title: str) -> None:
        assert self.served.api.post("/notes", json={"title": title}).status_code == 201

    def sql(self, statement: str) -> list[tuple[object, ...]]:
        return query(self.data, statement)

    def columns(self) -> set[str]:
        return {str(name) for (name,) in self.sql("SELECT name FROM pragma_table_info('notes')")}

    def approve(self) -> None:
        found = read_waiting(self.state)
        assert found is not None
        done = self.commands.run("approve", found.hash, "--state", self.state)
        assert done.returncode == 0, done.stderr

    def conditions(self) -> dict[str, dict[str, object]]:
        found = {one["type"]: one for one in self.served.status()["conditions"]}
        return {kind: one for kind, one in found.items() if one["status"]}


@pytest.fixture
def place(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Place]:
    place = Place(tmp_path, getattr(request, "param", 1))
    try:
        yield place
    finally:
        assert place.served.stop() == 0
    assert "Traceback" not in (place.served.home / "log").read_text()


@contextmanager
def load(url: str, clients: int) -> Iterator[Counter[int]]:
    """Let clients write and read over kept connections; yield what they are answered."""
    seen: Counter[int] = Counter()
    over = threading.Event()

    def ask() -> None:
        with httpx.Client(base_url=url, timeout=20) as client:
            while not over.is_set():
                seen[client.post("/notes", json={"title": "x"}).status_code] += 1
                seen[client.get("/notes").status_code] += 1

    threads = [threading.Thread(target=ask) for _ in range(clients)]
    for thread in threads:
        thread.start()
    try:
        wait_for(lambda: seen.total() > 2 * clients)
        yield seen
    finally:
        over.set()
        for thread in threads:
            thread.join()


@pytest.mark.parametrize("place", [1, pytest.param(2, marks=pytest.mark.long)], indirect=True)
def test_no_request_of_16_clients_fails_while_a_column_is_renamed(place: Place) -> None:
    with load(place.served.serving["url"], 16) as seen:
        made = place.publish(RENAMED)
        before = seen.total()
        wait_for(lambda: seen.total() > before + 64)
    assert made == ["rename column 'notes.name' (it was 'title') at the swap"]
    assert seen.keys() == {200, 201}
    assert place.sql("SELECT count(*) FROM notes WHERE name = 'x'") == [(seen[201],)]


def test_a_dropped_column_comes_back_with_its_values(place: Place) -> None:
    mood = with_columns("mood: { type: string, nullable: true, maxLength: 9 }")
    place.publish({**mood, "tables/empty.yaml": NOTES})
    (place.folder / "tables/empty.yaml").unlink()
    assert place.publish(mood) == ["drop table 'empty' after the swap"]
    wait_for(lambda: not place.sql("SELECT 1 FROM sqlite_master WHERE name = 'empty'"))
    assert "Hidden" not in place.conditions()
    place.add("kept")
    place.sql("UPDATE notes SET mood = 'good'")
    place.commit({"tables/notes.yaml": NOTES})
    assert "would lose its value" in place.served.stalled()["message"]
    place.approve()
    (change,) = place.served.live()["changes"]
    assert change.endswith("would lose its value: id 1) hidden after the swap")
    place.add("new")
    hidden = wait_for(lambda: place.conditions().get("Hidden"))
    assert hidden["message"].startswith("notes.mood: 'bbops db narrow' deletes")
    place.commit(with_columns("mood: { type: integer, nullable: true }"))
    assert "hidden with values of type string" in place.served.stalled()["message"]
    place.publish(mood)
    assert place.sql("SELECT mood FROM notes ORDER BY id") == [("good",), (None,)]
    wait_for(lambda: "Hidden" not in place.conditions())


def test_what_is_hidden_is_deleted_by_command(place: Place) -> None:
    place.publish(
        {**with_columns("mood: { type: string, default: good }"), "tables/empty.yaml": NOTES}
    )
    place.add("kept")
    place.commit({"tables/notes.yaml": NOTES})
    place.served.stalled()
    place.approve()
    place.served.live()
    wait_for(lambda: place.conditions().get("Hidden"))
    at = ("narrow", "--state", place.state)
    assert place.commands.json(*at, "--dry-run") == {"hidden": {"notes.mood": 1}}
    deleted = place.commands.json(*at)
    assert deleted["deleted"] == {"notes.mood": 1}
    assert place.columns() == {"id", "title"}
    assert query(Path(deleted["kept"]), "SELECT mood FROM notes") == [("good",)]
    place.served.live()
    assert "Hidden" not in place.conditions()
    assert place.commands.run(*at, "--dry-run").stdout == "nothing is hidden\n"


def test_rows_of_the_release_before_stall_the_narrowing_and_not_the_release(place: Place) -> None:
    hashing = FILES["functions/slow.yaml"].partition("steps:\n")[2].partition("  - return")[0]
    slow = FILES["functions/add.yaml"].replace("steps:\n", f"steps:\n{hashing}")
    place.publish({"functions/add.yaml": slow})  # 1.6 s pass before it writes
    late = threading.Thread(target=place.add, args=("much too long",))
    late.start()
    time.sleep(0.3)
    short = NOTES.replace("title: { type: string }", "title: { type: string, maxLength: 3 }")
    made = place.publish(
        {"tables/notes.yaml": short, "functions/add.yaml": FILES["functions/add.yaml"]}
    )
    assert made == ["change the rules of column 'notes.title' after the swap"]
    late.join()
    stalled = place.served.stalled()
    assert stalled["reason"] == "NarrowingStalled"
    assert "(1 row violates the new rule: id 1)" in stalled["message"]
    found = place.conditions()
    assert found["Ready"]["status"]
    assert found["Narrowing"]["reason"] == "NarrowingStalled"
    place.sql("UPDATE notes SET title = 'ok'")
    wait_for(lambda: "Narrowing" not in place.conditions())
    with closing(sqlite3.connect(place.data)) as live, pytest.raises(sqlite3.IntegrityError):
        live.execute("INSERT INTO notes (title) VALUES ('much too long')")


def test_a_server_killed_while_names_change_starts_with_a_release_that_fits(place: Place) -> None:
    for number in range(KILLS):
        place.add(f"note {number}")
        striking = threading.Thread(target=strike, args=(place, 0.002 * number))
        striking.start()
        commit = place.commit(BACK if number % 2 else RENAMED)
        striking.join()
        place.served = served = place.start()
        wait_for(lambda served=served: served.api.get("/~ready").status_code == 200)
        codes, release = set(), ""
        while release != commit[:12]:
            read = served.api.get("/notes")
            written = served.api.post("/notes", json={"title": "x"})
            codes |= {read.status_code, written.status_code}
            release = written.headers["x-release"]
        assert codes == {200, 201}, number
        wait_for(lambda served=served: served.condition("Ready")["reason"] == "Published")
    assert place.sql("PRAGMA integrity_check") == [("ok",)]
    kept = place.sql("SELECT count(*) FROM notes WHERE title LIKE 'note %'")
    assert kept == [(KILLS,)]


def strike(place: Place, seconds: float) -> None:
    """Kill the server, so long after it has begun to change names."""
    begun = place.state / "publication-next.json"
    until = time.monotonic() + 20
    while not begun.exists() and time.monotonic() < until:
        time.sleep(0.0003)
    time.sleep(seconds)
    place.served.stop(signal.SIGKILL)
