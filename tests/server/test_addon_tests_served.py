"""The connection of an addon is tested at the server: with its own values, and by who may."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bbops.source.git import store
from tests.support.drafting import branch
from tests.support.patience import wait_for
from tests.support.served import Served, git
from tests.vendors.stand_in import Answer, StandIn

pytestmark = pytest.mark.long

LIVE_KEY = "sk-live-that-no-draft-may-see"
DRAFT_KEY = "sk-draft-of-its-own"
TOPIC = "topic"
ADDON = 'enabled: true\nconfig: { apiKey: "${ env.MODEL_KEY }", endpoint: URL }\n'
FILES = {
    "project.yaml": "bbops: 1\nname: shop\nenv:\n  MODEL_KEY: { secret: true }\n",
    "addons/aiModel.yaml": ADDON,
    "addons/localStorage.yaml": "enabled: true\nconfig: { baseDirectory: ./storage }\n",
    "addons/crm.yaml": "enabled: false\n",
}


class At:
    """A server with two addons, and the vendor of one of them."""

    def __init__(self, served: Served, vendor: StandIn) -> None:
        self.served, self.vendor = served, vendor

    def test(self, addon: str, *more: str) -> tuple[int, str]:
        """Test an addon as people do; return the exit status and what is said."""
        control = self.served.serving["control_url"]
        done = self.served.bbops("addon", "test", addon, "--server", control, *more)
        return done.returncode, (done.stdout + done.stderr).strip()

    @property
    def keys(self) -> set[str]:
        """The keys that the vendor was given."""
        return {one.headers["authorization"].removeprefix("Bearer ") for one in self.vendor.asked}


@pytest.fixture
def at(tmp_path: Path) -> Iterator[At]:
    with StandIn(Answer(body={"data": []})) as vendor:
        files = {path: text.replace("URL", vendor.url).encode() for path, text in FILES.items()}
        store.init(tmp_path / "shop", files, message="Start")
        (tmp_path / "settings.yaml").write_text("egress: { allow: [127.0.0.1] }\n")
        settings = ["--settings", str(tmp_path / "settings.yaml")]
        env = {"MODEL_KEY": LIVE_KEY}
        with Served(tmp_path / "shop", tmp_path / "home", *settings, env=env) as served:
            served.live()
            yield At(served, vendor)


def test_the_server_says_whether_its_key_works(at: At) -> None:
    assert at.test("aiModel") == (0, "aiModel: works")
    assert at.test("localStorage")[0] == 0
    (asked,) = at.vendor.asked
    assert (asked.method, asked.path) == ("GET", "/v1/models")
    assert at.keys == {LIVE_KEY}


@pytest.mark.parametrize(("answer", "state", "said"), [
    (Answer(401, {"error": {"message": f"no such key {LIVE_KEY}"}}), "refused", "the key is wrong"),
    (Answer(403, {"error": {"message": "no"}}), "lacks", "the key lacks a right"),
    (Answer(breaks="reset"), "unreachable", "cannot be reached"),
    (Answer(500, f"<html>{LIVE_KEY}</html>"), "failed", "answered 500"),
])  # fmt: skip
def test_what_is_wrong_is_said_and_never_the_key(
    at: At, answer: Answer, state: str, said: str
) -> None:
    at.vendor.answers = [answer]
    status, text = at.test("aiModel", "--json")
    found = json.loads(text)
    assert (status, found["addon"], found["state"]) == (1, "aiModel", state)
    assert said in found["text"]
    assert LIVE_KEY not in text


def test_an_addon_without_values_or_none_at_all(at: At) -> None:
    assert at.test("crm") == (1, "crm: addon 'crm' needs a value of 'accessToken'")
    status, said = at.test("aiModell")
    assert status == 2
    assert "the live release has no addon 'aiModell'" in said
    assert "did you mean 'aiModel'?" in said
    assert at.vendor.asked == []


def test_at_most_ten_a_minute(at: At) -> None:
    control, path = at.served.control, "/api/projects/shop/addons/test"
    answers = [control.post(path, json={"addon": "aiModel"}) for _ in range(11)]
    assert [one.status_code for one in answers] == [200] * 10 + [429]
    assert 1 <= int(answers[-1].headers["retry-after"]) <= 60
    assert len(at.vendor.asked) == 10
    status, said = at.test("aiModel")
    assert status == 2
    assert "too many attempts" in said


def test_a_draft_is_tested_with_its_own_values_and_cannot_have_the_live_ones(at: At) -> None:
    state = ("--state", str(at.served.repository / ".bbops/state"))
    set_ = at.served.bbops("env", "set", "MODEL_KEY", DRAFT_KEY, "--drafts", *state)
    assert set_.returncode == 0, set_.stderr
    with StandIn(Answer(body={"data": []})) as thief:
        with branch(at.served, TOPIC):  # a draft that nobody has reviewed names its own host
            path = at.served.repository / "addons/aiModel.yaml"
            path.write_text(ADDON.replace("URL", thief.url))
            at.served.commit()
        wait_for(lambda: TOPIC in at.served.bbops("drafts", "list").stdout)
        host = f"127.0.0.1:{thief.server_address[1]}"
        assert "may not reach" in _draft(at)[1]
        assert thief.asked == []
        allowed = at.served.bbops("drafts", "allow", TOPIC, host)
        assert allowed.returncode == 0, allowed.stderr
        assert _draft(at) == (0, "aiModel: works")
        assert {one.headers["authorization"] for one in thief.asked} == {f"Bearer {DRAFT_KEY}"}
        assert at.vendor.asked == []
        assert at.test("aiModel") == (0, "aiModel: works")
        assert at.keys == {LIVE_KEY}
        assert len(thief.asked) == 1


def _draft(at: At) -> tuple[int, str]:
    def tested() -> Any:
        found = at.test("aiModel", "--draft", TOPIC)
        return found if "is being made" not in found[1] else None

    found: tuple[int, str] = wait_for(tested)
    return found


def test_a_server_tests_one_addon_at_a_time(at: At) -> None:
    done = at.served.bbops("addon", "test", "--server", at.served.serving["control_url"])
    assert done.returncode == 2
    assert "a server tests one addon at a time" in done.stderr
    assert git(at.served.repository, "status", "--short") == ""
