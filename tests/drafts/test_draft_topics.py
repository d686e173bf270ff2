"""Topics of drafts: by websocket and as events, with the draft's token, apart from the live."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from bbops.source.git import store
from tests.support.draft_processes import forked
from tests.support.drafting import answered, branch
from tests.support.patience import PATIENCE_SECONDS, wait_for
from tests.support.realtime import FILES, Talker, events, read_events, say, talker
from tests.support.served import Served, git

pytestmark = pytest.mark.long


@pytest.fixture
def talk(tmp_path: Path) -> Iterator[Served]:
    store.init(
        tmp_path / "talk", {name: text.encode() for name, text in FILES.items()}, message="a"
    )
    with Served(tmp_path / "talk", tmp_path / "home") as served:
        served.live()
        yield served


@pytest.fixture
def draft(talk: Served) -> Iterator[httpx.Client]:
    with branch(talk, "topic"):
        text = FILES["functions/say.yaml"] + "# as a draft\n"
        (talk.repository / "functions/say.yaml").write_text(text)
        git(talk.repository, "commit", "-qam", "Speak")
    wait_for(lambda: "topic" in talk.bbops("drafts", "list").stdout)
    made = json.loads(talk.bbops("drafts", "token", "topic", "--json").stdout)
    headers = {"x-draft-token": made["token"]}
    with httpx.Client(base_url=made["url"], headers=headers, timeout=120) as client:
        answered(lambda: client.post("say", json={"topic": "warm", "text": "up"}))
        yield client


def test_a_draft_and_the_live_release_do_not_hear_each_other(
    talk: Served, draft: httpx.Client
) -> None:
    with (
        draft.stream("GET", "~realtime/rooms/hall") as response,
        events(talk, "rooms/hall") as (_, live),
    ):
        assert response.headers["content-type"] == "text/event-stream"
        there = read_events(response.iter_lines())
        place = next(there)["id"], next(live)["id"]
        assert place[0] != place[1]
        say(talk, "hall", "live")
        assert draft.post("say", json={"topic": "hall", "text": "draft"}).status_code == 204
        found = [json.loads(next(one)["data"])["payload"]["text"] for one in (there, live)]
        assert found == ["draft", "live"]
    with draft.stream("GET", "~realtime/rooms/hall", headers={"last-event-id": place[0]}) as back:
        missed = next(read_events(back.iter_lines()))
        assert json.loads(missed["data"])["payload"]["text"] == "draft"


def test_topics_of_a_draft_need_its_token(talk: Served, draft: httpx.Client) -> None:
    answer = httpx.get(f"{draft.base_url}~realtime/rooms/hall", timeout=PATIENCE_SECONDS)
    assert answer.status_code in {401, 403, 404}
    assert "text/event-stream" not in answer.headers["content-type"]


# ---- websockets
def socket_url(draft: httpx.Client) -> str:
    return str(draft.base_url).replace("http", "ws", 1).rstrip("/")


def connect(draft: httpx.Client, **headers: str) -> Talker:
    """Return a client of the draft that has connected."""
    made = Talker(f"{socket_url(draft)}/~realtime", additional_headers=headers)
    assert "error" not in made.ask("connect")
    return made


def connect_by_header(draft: httpx.Client) -> Talker:
    return connect(draft, **{"x-draft-token": draft.headers["x-draft-token"]})


def connect_unless_refused(draft: httpx.Client) -> Talker | None:
    with suppress(InvalidStatus):
        return connect_by_header(draft)
    return None


def cookie(draft: httpx.Client) -> dict[str, str]:
    return {"cookie": f"bbops-draft={draft.headers['x-draft-token']}"}


def test_clients_of_a_draft_hear_each_other_by_websocket(talk: Served, draft: httpx.Client) -> None:
    with (
        connect_by_header(draft) as ann,
        connect_by_header(draft) as ben,
        talker(talk) as live,
    ):
        for client in (ann, ben, live):
            assert "error" not in client.subscribe("rooms/hall")
        say(talk, "hall", "live")
        assert draft.post("say", json={"topic": "hall", "text": "draft"}).status_code == 204
        assert (ann.said(), ben.said(), live.said()) == (["draft"], ["draft"], ["live"])


def test_a_history_larger_than_a_frame_crosses_whole(draft: httpx.Client) -> None:
    words = ["x" * 30_000 + str(number) for number in range(10)]
    for word in words:
        assert draft.post("say", json={"topic": "kept", "text": word}).status_code == 204
    with connect_by_header(draft) as ann:
        found = ann.subscribe("rooms/kept", recover=True, epoch="", offset=0)
        assert "error" not in found


def test_a_websocket_of_a_draft_needs_its_token(draft: httpx.Client) -> None:
    for headers in ({}, {"x-draft-token": "made-up"}, {"cookie": "bbops-draft=made-up"}):
        with pytest.raises(InvalidStatus) as refused:
            connect(draft, **headers)
        assert refused.value.response.status_code == 401


def test_a_page_of_another_origin_cannot_use_the_cookie_of_a_draft(draft: httpx.Client) -> None:
    mine = f"{draft.base_url.scheme}://{draft.base_url.netloc.decode()}"
    with connect(draft, **cookie(draft), origin=mine) as ann:
        assert "error" not in ann.subscribe("rooms/hall")
    for origin in ("https://evil.example", "null"):
        with pytest.raises(InvalidStatus) as refused:
            connect(draft, **cookie(draft), origin=origin)
        assert refused.value.response.status_code == 401


def test_a_websocket_of_a_draft_is_for_topics_alone(draft: httpx.Client) -> None:
    headers = {"x-draft-token": draft.headers["x-draft-token"]}
    with pytest.raises(InvalidStatus) as refused:
        Talker(f"{socket_url(draft)}/say/~realtime", additional_headers=headers)
    assert refused.value.response.status_code == 404


def test_clients_connect_again_when_the_process_of_a_draft_ends(
    talk: Served, draft: httpx.Client
) -> None:
    with connect_by_header(draft) as ann:
        (process,) = forked(talk)
        os.kill(process, signal.SIGKILL)
        with pytest.raises(ConnectionClosed) as closed:
            ann.next()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1012
    with wait_for(lambda: connect_unless_refused(draft)) as again:
        assert "error" not in again.subscribe("rooms/hall")
