"""Topics of drafts: read as server-sent events, with the draft's token, apart from what is live."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from bbops.source.git import store
from tests.support.drafting import answered, branch
from tests.support.patience import PATIENCE_SECONDS, wait_for
from tests.support.realtime import FILES, events, read_events, say
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
