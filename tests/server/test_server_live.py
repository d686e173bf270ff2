"""The data plane's door and the swap behind it, without processes."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any, Literal

import pytest
from msgspec import convert

from bbops.base.errors import ServerError
from bbops.base.json_diagnostics import JsonDiagnostic
from bbops_server.data_plane.live import swap
from tests.support.doors import ENV, Door, run
from tests.support.patience import PATIENCE_SECONDS, eventually, settle


class Gate(asyncio.Event):
    """An event that counts how often it is waited for."""

    waiting = 0

    async def wait(self) -> Literal[True]:
        self.waiting += 1
        return await super().wait()


def test_without_a_release_routes_ask_to_come_back(tmp_path: Path) -> None:
    async def test(door: Door) -> None:
        status, headers, body = await door.ask()
        assert (status, headers["retry-after"]) == (503, "1")
        assert body["error"]["code"] == "notReady"
        assert (await door.ask("/~ready"))[0] == 503
        assert (await door.ask("/~health"))[0] == 200

    run(tmp_path, test)


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_without_a_release_a_browser_gets_a_page_that_says_so(tmp_path: Path, method: str) -> None:
    async def test(door: Door) -> None:
        sent: list[dict[str, Any]] = []
        scope = {"type": "http", "method": method, "path": "/", "raw_path": b"/",
                 "query_string": b"", "headers": [(b"host", b"a"), (b"accept", b"text/html")],
                 "state": {}}  # fmt: skip

        async def send(message: Any) -> None:
            sent.append(message)

        await door.app(scope, None, send)
        headers = dict(sent[0]["headers"])
        assert (sent[0]["status"], headers[b"content-type"]) == (503, b"text/html")
        assert (headers[b"cache-control"], headers[b"vary"]) == (b"no-store", b"accept")
        assert (b"No release is live yet" in sent[1]["body"]) is (method == "GET")

    run(tmp_path, test)


def test_a_swap_changes_the_next_answer(tmp_path: Path) -> None:
    async def test(door: Door) -> None:
        for version in (1, 2):
            await door.publish(version)
            status, headers, body = await door.ask()
            assert (status, headers["x-release"]) == (200, f"r{version}")
            assert body == {"text": "hi", "version": version}

    run(tmp_path, test)


def test_what_is_linked_is_not_live_yet(tmp_path: Path) -> None:
    async def test(door: Door) -> None:
        await door.publish(1)
        await door.link(2)
        assert (await door.ask())[2]["version"] == 1
        with pytest.raises(ServerError, match="'r3' is not linked"):
            door.live.swap("r3")
        assert (await door.ask())[2]["version"] == 1

    run(tmp_path, test)


@pytest.mark.parametrize("data", [b"", b"garbage", None])
def test_a_damaged_artifact_changes_nothing(tmp_path: Path, data: bytes | None) -> None:
    async def test(door: Door) -> None:
        await door.publish(1)
        path = door.compile(2)
        if data is None:
            path.unlink()
        else:
            path.write_bytes(data)
        with pytest.raises(ServerError, match=r"artifact '.*'"):
            await door.live.link(path, name="r2", env=ENV, database=tmp_path / "data.sqlite")
        assert (await door.ask())[2]["version"] == 1

    run(tmp_path, test)


@pytest.mark.long
def test_an_old_release_is_freed_once_its_last_request_has_ended(tmp_path: Path) -> None:
    async def test(door: Door) -> None:
        await door.publish(1)
        old = door.live.release
        assert old is not None
        body, request = await door.begin_note()
        await door.publish(2)
        await settle()
        assert old.spaces
        body.send()
        assert (await request)[1]["x-release"] == "r1"
        await door.live.drain()
        assert not old.spaces
        gone = weakref.ref(old)
        del old
        gc.collect()
        assert gone() is None

    run(tmp_path, test)


@pytest.mark.long
def test_a_request_that_never_ends_keeps_its_release_intact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(swap, "DRAIN_SECONDS", 0)

    async def test(door: Door) -> None:
        await door.publish(1)
        body, request = await door.begin_note()
        await door.publish(2)
        await door.live.drain()
        body.send()
        status, headers, note = await request
        assert (status, headers["x-release"], note["title"]) == (201, "r1", "late")

    run(tmp_path, test)


def test_requests_during_many_swaps_are_all_answered_by_one_release(tmp_path: Path) -> None:
    async def test(door: Door) -> None:
        await door.publish(1)
        answers = []
        for version in range(2, 12):
            tasks = [asyncio.create_task(door.ask()) for _ in range(20)]
            await asyncio.sleep(0)
            await door.publish(version)
            answers += await asyncio.gather(*tasks)
        for status, headers, body in answers:
            assert status == 200
            assert headers["x-release"] == f"r{body['version']}"

    run(tmp_path, test)


def test_releases_share_the_database_of_one_path(tmp_path: Path) -> None:
    async def test(door: Door) -> None:
        await door.publish(1)
        await door.publish(2)
        assert len(door.live._databases) == 1

    run(tmp_path, test)


def test_a_refusal_stays_until_the_next_swap(tmp_path: Path) -> None:
    diagnostic = {"file": "a.yaml", "line": 3, "column": 4, "code": "odd", "message": "wrong",
                  "hint": "", "severity": "error"}  # fmt: skip

    async def test(door: Door) -> None:
        await door.publish(1)
        door.live.refuse([convert(diagnostic, JsonDiagnostic)])
        status, headers, body = await door.ask("/anything")
        assert (status, headers["x-release"]) == (503, "r1")
        assert body["error"]["message"] == "a.yaml:3:4: error: wrong [odd]"
        assert body["error"]["diagnostics"] == [diagnostic]
        await door.publish(2)
        assert (await door.ask())[0] == 200

    run(tmp_path, test)


HOST = (b"host", b"localhost")


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        ({"headers": []}, 400),
        ({"headers": [HOST, HOST]}, 400),
        ({"headers": [HOST] + [(b"a", b"b")] * 99}, 200),
        ({"headers": [HOST] + [(b"a", b"b")] * 100}, 431),
        ({"headers": [HOST, (b"a", b"b" * 33_000)]}, 431),
        ({"query": b"q" * 33_000}, 431),
        ({"path": "/" + "a" * 8_191}, 404),
        ({"path": "/" + "a" * 8_192}, 400),
    ],
)
def test_the_guard_stands_before_every_route(
    tmp_path: Path, request_: dict[str, Any], status: int
) -> None:
    async def test(door: Door) -> None:
        await door.publish(1)
        found, headers, body = await door.ask(**request_)
        assert found == status
        assert headers["x-release"] == "r1"
        assert found == 200 or body["error"]["message"]

    run(tmp_path, test)


def test_an_answer_to_head_has_no_body(tmp_path: Path) -> None:
    async def test(door: Door) -> None:
        status, headers, body = await door.ask(method="HEAD")
        assert (status, body) == (503, None)
        assert int(headers["content-length"]) > 0

    run(tmp_path, test)


@pytest.mark.long
def test_a_data_process_loads_no_builder_and_no_git() -> None:
    code = (
        "import sys; import bbops_server.data_plane.serve as s\n"
        "from bbops_server.data_plane.gateway.gateway import DataPlane\n"
        "s.SocketServer(DataPlane(None)).config.load()\n"
        "print(*sorted(sys.modules))"
    )
    loaded = subprocess.check_output([sys.executable, "-c", code], text=True).split()
    unwanted = {
        "bbops.source.yaml", "bbops.language.resources", "bbops.language.project",
        "bbops.source.git", "bbops.compiler.compile",
        "bbops.language.expressions", "bbops.language.steps", "git", "sqlalchemy", "alembic",
        "httpx", "ruamel",
        "cryptography.hazmat.primitives.ciphers.aead", "bbops_server.process.host.secrets",
        "bbops_server.publish", "bbops_server.control_plane", "mcp", "authlib", "pydantic",
        "attr",
    }  # fmt: skip
    assert not unwanted & set(loaded)


@pytest.mark.long
def test_a_build_process_knows_nothing_of_agents() -> None:
    code = "import sys, bbops_server.publish.build.worker; print(*sorted(sys.modules))"
    loaded = subprocess.check_output([sys.executable, "-c", code], text=True).split()
    assert not {"mcp", "authlib", "bbops_server.control_plane"} & set(loaded)


@pytest.mark.long
def test_the_parent_loads_no_compiler_and_no_database_driver() -> None:
    code = (
        "import sys, bbops_server.commands._main, bbops_server.control_plane.app\n"
        "import bbops_server.publish.projects.projects\n"
        "print(*sorted(sys.modules))"
    )
    loaded = subprocess.check_output([sys.executable, "-c", code], text=True).split()
    unwanted = {
        "git", "alembic", "bbops.compiler.compile", "bbops.language.steps",
        "bbops.language.expressions", "mcp", "pydantic",
        "httpx",
    }  # fmt: skip
    assert not unwanted & set(loaded)


@pytest.mark.long
def test_what_is_held_waits_for_the_next_release(tmp_path: Path) -> None:
    async def test(door: Door) -> None:
        await door.publish(1)
        await door.link(2)
        body, request = await door.begin_note()
        door.live.held = gate = Gate()
        holding = asyncio.create_task(
            door.live.hold(seconds=PATIENCE_SECONDS, drain_seconds=PATIENCE_SECONDS)
        )
        waiting = [asyncio.create_task(door.ask()) for _ in range(8)]
        await eventually(lambda: gate.waiting == len(waiting))
        await settle()
        assert not holding.done(), "a request is under way"
        body.send()
        await holding
        assert request.done(), "what was under way has ended"
        assert not any(one.done() for one in waiting)
        door.live.swap("r2")
        assert [status for status, _, _ in await asyncio.gather(*waiting)] == [200] * 8
        assert {head["x-release"] for _, head, _ in await asyncio.gather(*waiting)} == {"r2"}

    run(tmp_path, test)


@pytest.mark.long
def test_a_hold_ends_by_itself_and_the_release_goes_on(tmp_path: Path) -> None:
    async def test(door: Door) -> None:
        await door.publish(1)
        body, request = await door.begin_note()
        await door.live.hold(seconds=0.2, drain_seconds=0)
        assert not request.done(), "it is late, and not waited for"
        assert (await door.ask())[1]["x-release"] == "r1"
        await door.live.hold(seconds=PATIENCE_SECONDS, drain_seconds=0)
        door.live.go_on()
        assert (await door.ask())[0] == 200
        body.send()
        assert (await request)[0] == 201

    run(tmp_path, test)


def test_what_is_held_when_the_parent_dies_asks_to_come_back(tmp_path: Path) -> None:
    async def test(door: Door) -> None:
        await door.publish(1)
        door.live.held = gate = Gate()
        await door.live.hold(seconds=PATIENCE_SECONDS, drain_seconds=0)
        waiting = asyncio.create_task(door.ask())
        await eventually(lambda: gate.waiting)
        door.live.give_up()
        status, headers, _ = await waiting
        assert (status, headers["retry-after"]) == (503, "1")

    run(tmp_path, test)
