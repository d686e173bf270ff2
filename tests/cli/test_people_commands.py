"""The commands about people: on the server's own machine, and against a server."""

from __future__ import annotations

import asyncio
import json
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bbops.base.errors import ServerError
from bbops.interfaces.cli import _server
from bbops.interfaces.cli._root_group import RootGroup
from bbops.interfaces.client import Remote
from bbops_server.accounts.book import Book
from bbops_server.accounts.rules import Role, Scope
from bbops_server.commands import users, workspace
from bbops_server.control_plane.sign_in.local import write_local_key
from bbops_server.process.sockets.binding import bind
from bbops_server.process.sockets.serving import SocketServer
from tests.support.control import PASSWORD, Browser, Tried, tried

__all__ = ["tried"]


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user who has signed in nowhere, in a folder that is no project's."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    monkeypatch.delenv("BBOPS_TOKEN", raising=False)
    monkeypatch.chdir(home)
    return home


def user(state: Path, *arguments: str, given: str = "") -> Result:
    runner = CliRunner()
    return runner.invoke(users.command, [*arguments, "--state", str(state)], input=given)


def told(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


# ---- on the server's own machine
@pytest.mark.long
def test_people_are_added_listed_and_given_roles(tmp_path: Path) -> None:
    added = user(tmp_path, "add", "ada@example.com", "--role", "owner", "--json", given=PASSWORD)
    assert told(added) == {"email": "ada@example.com", "role": "owner"}
    made = told(user(tmp_path, "add", "bob@example.com", "--generate", "--json"))
    assert len(made["password"]) == 20
    change = ("role", "bob@example.com", "viewer", "--project", "shop")
    assert user(tmp_path, *change).stdout == "bob@example.com is viewer in shop\n"
    people = told(user(tmp_path, "list", "--json"))["people"]
    assert [(one["email"], one["role"], one["projects"]) for one in people] == [
        ("ada@example.com", "owner", {}), ("bob@example.com", "developer", {"shop": "viewer"}),
    ]  # fmt: skip
    assert "bob@example.com    developer, viewer of shop" in user(tmp_path, "list").stdout


@pytest.mark.long
def test_what_cannot_be_is_refused(tmp_path: Path) -> None:
    user(tmp_path, "add", "ada@example.com", "--role", "owner", given=PASSWORD)
    for arguments, given in (
        (("add", "ada@example.com"), PASSWORD), (("add", "bob@example.com"), "short"),
        (("role", "ada@example.com", "none"), ""), (("disable", "ada@example.com"), ""),
        (("role", "eve@example.com", "viewer"), ""),
        (("tokens", "ada@example.com", "--revoke", "x"), ""),
    ):  # fmt: skip
        assert user(tmp_path, *arguments, given=given).exit_code != 0, arguments
    assert told(user(tmp_path, "list", "--json"))["people"][0]["role"] == "owner"


@pytest.mark.long
def test_a_password_is_reset_and_a_person_kept_out(tmp_path: Path) -> None:
    user(tmp_path, "add", "ada@example.com", "--role", "owner", given=PASSWORD)
    user(tmp_path, "add", "bob@example.com", given=PASSWORD)
    book = Book.open(tmp_path)
    bob = book.people.get("bob@example.com")
    assert bob is not None
    key = book.sessions.begin(bob.id, user_agent="", address="")
    assert user(tmp_path, "reset-password", "bob@example.com", given="another horse").exit_code == 0
    assert book.sessions.find(key) is None
    user(tmp_path, "disable", "bob@example.com")
    assert told(user(tmp_path, "list", "--json"))["people"][1]["disabled"]
    user(tmp_path, "disable", "bob@example.com", "--undo")
    assert not told(user(tmp_path, "list", "--json"))["people"][1]["disabled"]
    assert [one.action for one in book.audit.list()] == [
        "enable", "disable", "reset password", "add", "add",
    ]  # fmt: skip
    assert {one.who for one in book.audit.list()} == {"local"}
    book.close()


def test_an_invitation_names_the_address_of_the_running_server(tmp_path: Path) -> None:
    found = told(user(tmp_path, "invite", "bob@example.com", "--json"))
    assert found["url"].startswith("http://127.0.0.1:8001/signup?invitation=bbi_")
    write_local_key(tmp_path, "http://127.0.0.1:9", "https://bbops.example.com")
    found = told(user(tmp_path, "invite", "eve@example.com", "--json"))
    assert found["url"].startswith("https://bbops.example.com/signup?invitation=bbi_")


def test_a_token_is_made_and_shown_once(tmp_path: Path) -> None:
    user(tmp_path, "add", "ada@example.com", "--generate")
    key = user(tmp_path, "tokens", "ada@example.com", "--new", "laptop").stdout.strip()
    assert key.startswith("bbp_")
    shown = user(tmp_path, "tokens", "ada@example.com").stdout
    assert "laptop" in shown
    assert "git deploy" in shown or "deploy git" in shown
    assert key not in shown
    wrong = user(tmp_path, "tokens", "ada@example.com", "--new", "x", "--days", "1000")
    assert wrong.exit_code != 0


def test_tokens_are_listed_without_their_secret(tmp_path: Path) -> None:
    user(tmp_path, "add", "ada@example.com", "--role", "owner", given=PASSWORD)
    book = Book.open(tmp_path)
    ada = book.people.get("ada@example.com")
    assert ada is not None
    key, token = book.tokens.make(ada.id, "ci", [Scope.READ])
    shown = user(tmp_path, "tokens", "ada@example.com").stdout
    assert token.id in shown
    assert key not in shown
    user(tmp_path, "tokens", "ada@example.com", "--revoke", token.id)
    assert told(user(tmp_path, "tokens", "ada@example.com", "--json")) == {"tokens": []}
    book.close()


def test_folder_without_a_server_is_an_error(home: Path) -> None:
    result = CliRunner().invoke(users.command, ["list"])
    assert isinstance(result.exception, ServerError)
    assert "not a project" in result.exception.message


def test_the_workspace_is_shown_and_changed(tmp_path: Path) -> None:
    def run(*arguments: str) -> Result:
        return CliRunner().invoke(workspace.command, [*arguments, "--state", str(tmp_path)])

    run("set", "company=Engines Ltd", "features.restChannels=off")
    assert told(run("show", "--json")) == {
        "name": "", "company": "Engines Ltd", "features": {"restChannels": False},
    }  # fmt: skip
    assert "features.restChannels=off" in run("show").stdout
    for wrong in ("features.restChannels=maybe", "features.other=on", "color=red", "name"):
        assert run("set", wrong).exit_code != 0


# ---- against a server
class Listening:
    """The control plane on a real port, in a thread of its own."""

    def __init__(self, tried: Tried) -> None:
        self.socket = bind("127.0.0.1", 0, option="")
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        self.server = SocketServer(tried.own_app())
        self.started = threading.Event()
        self.thread = threading.Thread(target=lambda: asyncio.run(self._serve()))
        self.thread.start()
        self.started.wait(10)

    async def _serve(self) -> None:
        self.loop, self.stopping = asyncio.get_running_loop(), asyncio.Event()
        serving = self.server.start(self.socket)
        self.started.set()
        await self.stopping.wait()
        await self.server.stop(1)
        await serving

    def close(self) -> None:
        self.loop.call_soon_threadsafe(self.stopping.set)
        self.thread.join()
        self.socket.close()


@pytest.fixture
def listening(tried: Tried) -> Iterator[Listening]:
    listening = Listening(tried)
    yield listening
    listening.close()


def run(*arguments: str, given: str = "") -> Result:
    return CliRunner().invoke(RootGroup("bbops"), arguments, input=given)


def approve(browser: Browser, code: str, decision: str) -> str:
    page = browser.get("/approve", params={"code": code.lower().replace("-", " ")})
    assert code in page.text
    return browser.post("/approve", {"code": code, "decision": decision}).text


@pytest.mark.long
def test_a_login_is_approved_in_a_browser_and_used_by_commands(
    tried: Tried, listening: Listening, home: Path
) -> None:
    waiting: list[Result] = []
    thread = threading.Thread(
        target=lambda: waiting.append(run("login", listening.url, "--json", "--no-browser"))
    )
    thread.start()
    while not tried.control.logins._kept:
        thread.join(0.02)
    (login,) = tried.control.logins._kept.values()
    assert "Approved" in approve(tried.as_person("ada@example.com"), login.code, "approve")
    thread.join()
    (done,) = waiting
    assert done.exit_code == 0, done.output
    first, second = map(json.loads, done.stdout.splitlines())
    assert first["code"] == login.code
    assert first["url"].endswith(f"/signup?return_to=%2Fapprove%3Fcode%3D{login.code}")
    assert second["email"] == "ada@example.com"
    path = home / "config/bbops/credentials.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert told(run("whoami", "--server", listening.url, "--json"))["scopes"] == ["deploy"]
    assert run("status", "--server", listening.url).exit_code == 0
    assert run("accept", "b" * 7, "--server", listening.url).exit_code == 0
    assert told(run("logout", "--server", listening.url, "--json"))["revoked"]
    after = run("status", "--server", listening.url)
    assert (after.exit_code, "you are not signed in to" in after.stderr) == (2, True)
    assert f"bbops login {listening.url}" in after.stderr


def test_a_login_that_is_denied_or_forgotten_gives_nothing(
    tried: Tried, listening: Listening
) -> None:
    with Remote(listening.url) as remote:
        begun = remote.begin_login("laptop", ["admin"])
        assert remote.poll_login(begun.device).status == "pending"
        approve(tried.as_person("ada@example.com"), begun.code, "deny")
        assert remote.poll_login(begun.device).status == "denied"
        assert remote.poll_login(begun.device).status == "expired"
        assert remote.poll_login("bbd_unknown").status == "expired"


def test_an_approval_is_of_who_is_signed_in_and_within_their_role(
    tried: Tried, listening: Listening
) -> None:
    tried.add("viewer@example.com", Role.VIEWER)
    with Remote(listening.url) as remote:
        begun = remote.begin_login("laptop", ["admin"])
        approve(tried.as_person("viewer@example.com"), begun.code, "approve")
        outcome = remote.poll_login(begun.device)
    with Remote(listening.url, outcome.token) as remote:
        assert remote.whoami().email == "viewer@example.com"
        with pytest.raises(ServerError, match="the role required is 'developer'"):
            remote.reconcile("small")
        assert remote.server().file is None  # for maintainers; `bbops status` works anyway


def test_codes_are_not_guessed(tried: Tried) -> None:
    browser = tried.as_person("ada@example.com")
    codes = [browser.get("/approve?code=BBBB-BBBB").status_code for _ in range(11)]
    assert codes == [404] * 10 + [429]


def test_a_token_comes_from_a_pipe(tried: Tried, listening: Listening) -> None:
    ada = tried.book.people.get("ada@example.com")
    assert ada is not None
    key, _ = tried.book.tokens.make(ada.id, "ci", [Scope.READ])
    assert run("login", listening.url, "--token", given=f"{key}\n").exit_code == 0
    assert told(run("whoami", "--server", listening.url, "--json"))["email"] == "ada@example.com"
    wrong = run("login", listening.url, "--token", given="bbp_wrong\n")
    assert (wrong.exit_code, "it has expired or was revoked" in wrong.stderr) == (2, True)


def test_the_environment_comes_before_what_is_stored(
    tried: Tried, listening: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BBOPS_TOKEN", "bbl_local")
    assert told(run("whoami", "--server", listening.url, "--json"))["how"] == "local"


def test_a_folder_of_a_server_asks_it_by_its_own_key(listening: Listening, home: Path) -> None:
    state = home / ".bbops/state"
    state.mkdir(parents=True)
    inside = home / "functions"
    inside.mkdir()
    text = json.dumps({"url": listening.url, "shown": listening.url, "token": "bbl_local"})
    (state / "control.json").write_text(text)
    assert told(run("whoami", "--server", listening.url, "--json"))["how"] == "local"
    assert run("status", "--server", listening.url).exit_code == 0
    assert _server.find_token("http://127.0.0.1:1") == ""


def test_no_token_is_sent_without_https() -> None:
    with pytest.raises(ServerError, match="without https"):
        Remote("http://bbops.example.com", "bbp_x")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"servers": 7}', '{"servers": {"x": {}}}'])
def test_a_broken_file_of_tokens_is_as_none(home: Path, text: str) -> None:
    path = home / "config/bbops/credentials.json"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    assert _server.find_token("x") == ""
    _server.store("x", "bbp_1", "ada@example.com")
    assert _server.find_token("x") == "bbp_1"
