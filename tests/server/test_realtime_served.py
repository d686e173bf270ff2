"""Topics of a real server: who may subscribe and publish, what comes, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from bbops.source.git import store
from tests.support.patience import wait_for
from tests.support.realtime import (
    FILES,
    Talker,
    address,
    events,
    login,
    say,
    talker,
)
from tests.support.served import Served


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("talk")
    store.init(folder / "talk", {name: text.encode() for name, text in FILES.items()}, message="a")
    with Served(folder / "talk", folder / "home") as served:
        served.live()
        yield served


def member(served: Served, user: str, room: str, *, leaves: bool = False) -> None:
    body = {"user": user, "room": room, "leaves": leaves}
    assert served.api.post("/members", json=body).status_code == 204


def closed(talking: Talker) -> int:
    """Return the code with which the server ends a connection."""
    try:
        while True:
            talking.next()
    except ConnectionClosed as found:
        return found.rcvd.code if found.rcvd else 1006


def refused(reply: dict[str, Any]) -> tuple[int, str]:
    return reply["error"]["code"], reply["error"]["message"]


# ---- messages
def test_a_message_of_a_request_reaches_who_has_subscribed(talk: Served) -> None:
    with talker(talk) as ann, talker(talk) as bob:
        assert ann.subscribe("news") == {}
        assert bob.subscribe("rooms/hall")["recoverable"] is True
        say(talk, "hall", "hello")
        message = {"event": "said", "payload": {"text": "hello"}}
        assert ann.push() == {"channel": "news", "pub": {"data": message}}
        assert bob.push() == {"channel": "rooms/hall", "pub": {"data": message, "offset": 1}}


def test_a_message_of_a_job_reaches_who_has_subscribed_once(talk: Served) -> None:
    with talker(talk) as ann:
        ann.subscribe("news")
        ann.subscribe("rooms/jobs")
        assert talk.api.post("/later", json={"text": "work"}).status_code == 202
        assert ann.said(2) == ["work", "work"]
        say(talk, "jobs", "end")
        assert ann.said(2) == ["end", "end"]


def test_a_client_publishes_where_it_may_and_what_fits(talk: Served) -> None:
    with talker(talk) as ann, talker(talk) as bob:
        bob.subscribe("rooms/open")
        message = {"event": "said", "payload": {"text": "hi"}}
        assert ann.ask("publish", channel="rooms/open", data=message) == {}
        assert bob.said() == ["hi"]
        code, text = refused(ann.ask("publish", channel="rooms/quiet", data=message))
        assert (code, text) == (103, "permission denied")
        for data, wanted in (
            ({"event": "said", "payload": {"text": 1}}, "'text' must be text"),
            ({"event": "sang", "payload": {}}, "the topic has no event 'sang'"),
            ("hi", "a message is {event, payload}"),
        ):
            code, text = refused(ann.ask("publish", channel="rooms/open", data=data))
            assert code == 107
            assert wanted in text


def test_names_of_topics_have_one_spelling(talk: Served) -> None:
    with talker(talk) as ann:
        assert "epoch" in ann.subscribe("rooms/caf%C3%A9%2F1")
        say(talk, "café/1", "oui")
        assert ann.push()["channel"] == "rooms/caf%C3%A9%2F1"
        for name in ("rooms/café", "rooms/caf%c3%a9", "rooms/a/b", "rooms/", "/news", "n" * 501):
            assert refused(ann.subscribe(name)) == (102, "unknown topic")


def test_who_is_there_is_shown_as_the_topic_says(talk: Served) -> None:
    with talker(talk) as ann:
        ann.subscribe("rooms/cafe", join_leave=True)
        with talker(talk) as bob:
            bob.subscribe("rooms/cafe")
            info = ann.push()["join"]["info"]
            assert (info["user"], info["chan_info"]) == ("", {"room": "cafe"})
            present = ann.ask("presence", channel="rooms/cafe")["presence"]
            assert info["client"] in present
            assert len(present) == 2
            assert ann.ask("presence_stats", channel="rooms/cafe")["num_clients"] == 2
        assert ann.push()["leave"]["info"] == info
        assert refused(ann.ask("presence", channel="rooms/other"))[0] == 103


# ---- coming back
def test_who_comes_back_gets_exactly_what_was_missed(talk: Served) -> None:
    with talker(talk) as ann:
        place = ann.subscribe("rooms/back")
    for number in range(5):
        say(talk, "back", str(number))
    with talker(talk) as ann:
        back = ann.subscribe(
            "rooms/back", recover=True, epoch=place["epoch"], offset=place["offset"] + 2
        )
        assert (back["was_recovering"], back["recovered"], back["offset"]) == (True, True, 5)
        missed = [one["data"]["payload"]["text"] for one in back["publications"]]
        assert missed == ["2", "3", "4"]
        say(talk, "back", "live")
        assert ann.said() == ["live"]


@pytest.mark.parametrize("given", [{"epoch": "0"}, {"offset": 9}, {"offset": -1}])
def test_who_cannot_be_told_what_was_missed_hears_that(talk: Served, given: dict[str, Any]) -> None:
    with talker(talk) as ann:
        place = ann.subscribe("rooms/lost")
    with talker(talk) as ann:
        asked = {"epoch": place["epoch"], "offset": place["offset"]} | given
        back = ann.subscribe("rooms/lost", recover=True, **asked)
        assert (back["was_recovering"], back["recovered"]) == (True, False)
        assert back["publications"] == []


def test_the_history_is_read_in_parts(talk: Served) -> None:
    with talker(talk) as ann:
        epoch = ann.subscribe("rooms/past")["epoch"]
        for number in range(4):
            say(talk, "past", str(number))
        ann.said(4)

        def texts(**given: Any) -> list[str]:
            found = ann.ask("history", channel="rooms/past", **given)["publications"]
            return [one["data"]["payload"]["text"] for one in found]

        assert texts() == []
        assert texts(limit=2) == ["0", "1"]
        assert texts(limit=9, since={"offset": 2, "epoch": epoch}) == ["2", "3"]
        assert texts(limit=2, reverse=True) == ["3", "2"]
        assert refused(ann.ask("history", channel="rooms/past", since={"epoch": "x"}))[0] == 112


# ---- who may
def test_a_topic_for_users_needs_a_token_and_its_middleware_decides(talk: Served) -> None:
    with talker(talk) as ann:
        assert refused(ann.subscribe("members/one")) == (101, "a valid token is needed")
    token = login(talk, "ada")
    with talker(talk, token) as ann:
        assert refused(ann.subscribe("members/one")) == (103, "not a member")
        member(talk, "ada", "one")
        assert ann.subscribe("members/one") == {}


def test_who_may_not_any_more_is_unsubscribed_and_stays_connected(talk: Served) -> None:
    member(talk, "bob", "two")
    with talker(talk, login(talk, "bob")) as bob:
        bob.subscribe("members/two")
        member(talk, "bob", "two", leaves=True)
        assert bob.push()["unsubscribe"] == {"code": 2000, "reason": "permission ended"}
        assert refused(bob.subscribe("members/two"))[0] == 103
        assert bob.subscribe("news") == {}


def test_a_connection_ends_with_its_token_unless_that_is_refreshed(talk: Served) -> None:
    lasts = "5s"
    with talker(talk, login(talk, "ada", lasts)) as kept:
        later = login(talk, "ada")
        assert kept.ask("refresh", token=later)["ttl"] > 3000
        token = login(talk, "ada", lasts)
        with talker(talk, token) as ann:
            assert closed(ann) == 3005
        assert kept.subscribe("news") == {}
    with Talker(address(talk)) as again:
        assert refused(again.ask("connect", token=token)) == (109, "token expired")
        assert again.ask("connect", token=login(talk, "ada"))["expires"] is True


def test_a_forged_token_and_that_of_somebody_else_end_the_connection(talk: Served) -> None:
    head, body, _ = login(talk, "ada").split(".")
    with Talker(address(talk)) as eve:
        eve.number = 1
        eve.socket.send(json.dumps({"id": 1, "connect": {"token": f"{head}.{body}.AAAA"}}))
        assert closed(eve) == 3500
    with talker(talk, login(talk, "ada")) as ada:
        ada.socket.send(json.dumps({"id": 9, "refresh": {"token": login(talk, "eve")}}))
        assert closed(ada) == 3500


# ---- limits
def test_a_user_has_twenty_connections(talk: Served) -> None:
    token = login(talk, "many")
    talking = [talker(talk, token) for _ in range(20)]
    try:
        with Talker(address(talk)) as more:
            more.socket.send(json.dumps({"id": 1, "connect": {"token": token}}))
            assert closed(more) == 3504
        talking.pop().socket.close()
        wait_for(lambda: connects(talk, token))
    finally:
        for one in talking:
            one.socket.close()


def connects(served: Served, token: str) -> bool:
    with Talker(address(served)) as again:
        again.socket.send(json.dumps({"id": 1, "connect": {"token": token}}))
        try:
            return "connect" in again.next()
        except ConnectionClosed:
            return False


def test_a_connection_has_a_hundred_subscriptions(talk: Served) -> None:
    with talker(talk) as ann:
        for number in range(100):
            assert "epoch" in ann.subscribe(f"rooms/n{number}")
        assert refused(ann.subscribe("rooms/n7")) == (105, "already subscribed")
        assert refused(ann.subscribe("rooms/n100"))[0] == 106
        assert ann.ask("unsubscribe", channel="rooms/n7") == {}
        assert "epoch" in ann.subscribe("rooms/n100")


def test_a_message_has_64_kilobytes(talk: Served) -> None:
    assert talk.api.post("/say", json={"topic": "a", "text": "x" * 66_000}).status_code == 400
    with talker(talk) as ann:
        message = {"event": "said", "payload": {"text": "x" * 65_600}}
        code, text = refused(ann.ask("publish", channel="rooms/a", data=message))
        assert (code, "65,536 bytes" in text) == (107, True)
        ann.socket.send("x" * 100_000)
        assert closed(ann) == 1009


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        ("{", 3501), ('{"id":2}', 3501), ('{"id":2,"connect":{}}', 3501), (b"\x00", 3506),
        ('{"id":2,"subscribe":{"channel":7}}', 3501), ("[" * 20_000, 3501), ("{}\n" * 300, 3501),
        (f'{{"id":{10**30},"refresh":{{}}}}', 3501),
    ],
)  # fmt: skip
def test_what_is_no_command_ends_the_connection(talk: Served, sent: str, code: int) -> None:
    with talker(talk) as eve:
        eve.socket.send(sent)
        assert closed(eve) == code


def test_what_is_not_there_says_so(talk: Served) -> None:
    with talker(talk) as ann:
        assert refused(ann.ask("rpc", method="x")) == (108, "not available")
        assert refused(ann.ask("history", channel="news"))[0] == 103
        ann.subscribe("news")
        assert refused(ann.ask("history", channel="news")) == (
            108,
            "no 'history' can be asked for here",
        )


def test_a_websocket_elsewhere_and_a_request_here_are_refused(talk: Served) -> None:
    for path in ("/~realtime/nowhere", "/~drafts/x/~realtime", "/a/~realtime", "/login"):
        with pytest.raises(InvalidStatus) as found:
            Talker(address(talk).replace("/~realtime", path))
        assert found.value.response.status_code in {404, 405}
    answer = talk.api.get("/~realtime")
    assert (answer.status_code, answer.headers["upgrade"]) == (426, "websocket")


# ---- server-sent events
def test_a_topic_is_read_as_events(talk: Served) -> None:
    with events(talk, "news") as (response, coming):
        assert response.headers["content-type"] == "text/event-stream"
        say(talk, "a", "hello")
        assert json.loads(next(coming)["data"]) == {"event": "said", "payload": {"text": "hello"}}


def test_events_go_on_where_they_stopped(talk: Served) -> None:
    with events(talk, "rooms/sse") as (_, coming):
        first = next(coming)["id"]
    for number in range(3):
        say(talk, "sse", str(number))
    with events(talk, "rooms/sse", {"last-event-id": first}) as (_, coming):
        found = [next(coming) for _ in range(3)]
        texts = [json.loads(one["data"])["payload"]["text"] for one in found]
        assert texts == ["0", "1", "2"]
        last = found[-1]["id"]
        say(talk, "sse", "live")
        assert json.loads(next(coming)["data"])["payload"]["text"] == "live"
    for lost in ("00aa:3", last.partition(":")[0] + ":99", "not an id of this server"):
        with events(talk, "rooms/sse", {"last-event-id": lost}) as (_, coming):
            assert next(coming) == {"event": "reset", "data": "{}"}


def test_events_are_refused_with_a_status(talk: Served) -> None:
    for topic, status in (("nowhere", 404), ("rooms/secret", 403), ("members/one", 401)):
        answer = talk.api.get(f"/~realtime/{topic}")
        assert (answer.status_code, "error" in answer.json()) == (status, True)
    assert talk.api.post("/~realtime/news").status_code == 405
    wrong = {"authorization": "Bearer nonsense"}
    assert talk.api.get("/~realtime/news", headers=wrong).status_code == 401


def test_events_for_a_user_come_with_the_token_in_a_header_and_end_with_it(talk: Served) -> None:
    member(talk, "cat", "three")
    headers = {"authorization": f"Bearer {login(talk, 'cat', '2s')}"}
    with events(talk, "members/three", headers) as (response, coming):
        assert response.status_code == 200
        assert list(coming) == []  # it ends


def test_pages_of_other_origins_read_events_as_channels_allow(talk: Served) -> None:
    with events(talk, "news", {"origin": "https://elsewhere.example"}) as (response, _):
        assert "access-control-allow-origin" not in response.headers
