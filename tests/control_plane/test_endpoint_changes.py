"""Buttons of an endpoint's page: each role, hostile input, stale plans, repositories elsewhere."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import pytest

from bbops.source.yaml.document import load
from tests.support.agents_at_server import House
from tests.support.checkouts import make_repository
from tests.support.patience import wait_for
from tests.support.playground import MEAN, PlaygroundBrowser, read_text
from tests.support.served import git

PAGE = "/projects/shop/endpoints"
COMMENTED = (
    "# The greeting.\nmethod: GET\npath: /hello\nfunction: hello # shared\nauthentication: None\n"
    "description: Greets.\n"
)
PROJECT = {
    "endpoints/hello.yaml": COMMENTED,
    "endpoints/inline.yaml": "method: GET\npath: /inline\nauthentication: None\n"
    "description: Has steps.\nsteps:\n  - return: { value: 1 }\n",
    "endpoints/board.yaml": "table: notes\npath: /board\nauthentication: None\n"
    "actions:\n  list: {}\n  get: {}\n",
    "endpoints/mean.yaml": "method: GET\npath: /mean\nfunction: hello\nauthentication: None\n"
    f"description: '{MEAN}'\n",
    "tests/list.yaml": "endpoint: list\ncases:\n  - name: lists\n    expect: { status: 200 }\n",
}
SERVER = (
    "projects:\n  shop: { repository: ./shop, pathPrefix: /shop }\n"
    '  away: { repository: "file://AWAY", pathPrefix: /away }\n'
)


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    folder = tmp_path_factory.mktemp("edit")
    for name in ("shop", "away"):
        make_repository(folder / name, PROJECT)
    with House(folder, SERVER.replace("AWAY", str(folder / "away"))) as house:
        yield house


@pytest.fixture(scope="module")
def developer(house: House) -> PlaygroundBrowser:
    return PlaygroundBrowser(house, "developer")


def press(browser: PlaygroundBrowser, endpoint: str, op: str, **fields: str) -> httpx.Response:
    """Press a button of an endpoint's page."""
    return browser.submit(f"{PAGE}/{endpoint}", op=op, **fields)


def hidden(page: httpx.Response) -> dict[str, str]:
    """Return the fields of the form that commits."""
    form = next(text for text in page.text.split("<form") if 'name="plan"' in text)
    found = re.findall(r'<input [^>]*?name="(\w+)"[^>]*? value="([^"]*)"', form)
    return {name: unescape(value) for name, value in found if name != "csrf"}


def commit(
    browser: PlaygroundBrowser, page: httpx.Response, url: str, **fields: str
) -> httpx.Response:
    """Press the Commit button of a preview."""
    return browser.submit(url, **(hidden(page) | {"do": "commit"} | fields))


def show(house: House, branch: str, file: str, project: str = "shop") -> str:
    return git(house.folder / project, "show", f"{branch}:{file}")


# ---- the buttons
def test_endpoint_is_duplicated_to_a_new_draft(house: House, developer: PlaygroundBrowser) -> None:
    assert "Duplicate" in developer.get(f"{PAGE}/hello").text
    page = press(developer, "hello", "copy")
    assert page.status_code == 200, page.text
    assert "added GET /hello/copy" in read_text(page)
    done = commit(developer, page, f"{PAGE}/hello")
    assert done.status_code == 303, done.text
    assert re.fullmatch(rf"{PAGE}/hello-copy\?done=committed&in=[\w-]+", done.headers["location"])
    copied = developer.get(done.headers["location"])
    assert "Committed to draft copy-hello" in read_text(copied)
    assert "Propose copy-hello" in read_text(copied)
    text = show(house, "copy-hello", "endpoints/hello-copy.yaml")
    assert text == COMMENTED.replace("/hello", "/hello/copy").strip()
    message = git(house.folder / "shop", "log", "-1", "--format=%s %ae", "copy-hello")
    assert message == "Copy endpoint hello to hello-copy developer@example.com"


def test_copy_with_a_known_path_cannot_be_committed(developer: PlaygroundBrowser) -> None:
    page = press(developer, "hello", "copy", to="greet", path="/hello")
    assert re.search(r"endpoints/hello\.yaml:\d+: error: .*GET /hello", page.text)
    assert 'name="plan"' not in page.text


def test_endpoint_is_deleted_and_its_function_stays(
    house: House, developer: PlaygroundBrowser
) -> None:
    page = press(developer, "slow", "delete", draft="no-slow")
    assert "Function slow stays" in read_text(page)
    assert "removed GET /slow" in read_text(page)
    done = commit(developer, page, f"{PAGE}/slow", message="Remove the slow one")
    assert done.headers["location"].startswith(f"{PAGE}?done=committed&in=")
    assert "Committed to draft no-slow" in read_text(developer.get(done.headers["location"]))
    files = git(house.folder / "shop", "diff", "--name-status", "main", "no-slow")
    assert files.split() == ["D", "endpoints/slow.yaml"]
    assert git(house.folder / "shop", "log", "-1", "--format=%s", "no-slow") == (
        "Remove the slow one"
    )


def test_endpoint_is_deleted_with_its_tests(house: House, developer: PlaygroundBrowser) -> None:
    page = press(developer, "list", "delete", draft="no-list")
    assert "tests/list.yaml:1: error:" in page.text
    assert 'name="plan"' not in page.text
    page = press(developer, "list", "delete", draft="no-list", tests="yes")
    assert commit(developer, page, f"{PAGE}/list").status_code == 303
    files = git(house.folder / "shop", "diff", "--name-only", "main", "no-list")
    assert files.split() == ["endpoints/list.yaml", "tests/list.yaml"]


def test_visibility_changes_in_the_shown_draft(house: House, developer: PlaygroundBrowser) -> None:
    page = press(developer, "hello", "docs", docs="hidden", draft="quiet")
    done = commit(developer, page, f"{PAGE}/hello")
    path = done.headers["location"].replace("done=committed&", "")
    assert show(house, "quiet", "endpoints/hello.yaml") == f"{COMMENTED}docsVisibility: hidden"
    assert "Show in the docs" in read_text(developer.get(path))
    page = developer.submit(path, op="docs", docs="visible")
    assert 'name="draft"' not in page.text.partition('name="plan"')[2]
    assert commit(developer, page, path).status_code == 303
    assert show(house, "quiet", "endpoints/hello.yaml") == f"{COMMENTED}docsVisibility: visible"


@pytest.mark.parametrize("name", ["maintainer", "developer"])
def test_endpoint_is_deleted_in_the_shown_draft(house: House, name: str) -> None:
    browser, draft = PlaygroundBrowser(house, name), f"delete-by-{name}"
    page = press(browser, "mean", "docs", docs="hidden", draft=draft)
    shown = commit(browser, page, f"{PAGE}/mean").headers["location"]
    path = shown.replace("done=committed&", "")
    page = browser.submit(path, op="delete", draft="another")
    done = commit(browser, page, path)
    assert done.headers["location"] == shown.replace("/mean?", "?")
    assert f"Committed to draft {draft}" in read_text(browser.get(done.headers["location"]))
    assert browser.get(path).status_code == 404
    assert git(house.folder / "shop", "rev-list", "--count", f"main..{draft}") == "2"


def test_inline_steps_are_deleted_with_their_endpoint(developer: PlaygroundBrowser) -> None:
    page = press(developer, "inline", "delete")
    assert "Its own steps are deleted with it" in read_text(page)


@pytest.mark.parametrize(
    "text",
    [
        "x\nfunction: other", "${ env.SECRET }", "'\"\\ # - {a: b}", MEAN, "é " * 5_000,
        "- a\n- b", "null", "---\nmethod: POST", "\u202eevil",
    ],
    ids=["key", "expression", "quotes", "html", "10 KB", "list", "null", "document", "bidi"],
)  # fmt: skip
def test_hostile_description_is_only_a_description(
    house: House, developer: PlaygroundBrowser, text: str
) -> None:
    page = press(developer, "hello", "describe", description=text)
    assert "<script>" not in page.text
    draft = hidden(page)["draft"]
    done = commit(developer, page, f"{PAGE}/hello")
    assert done.status_code == 303, read_text(done)
    document = load(show(house, draft, "endpoints/hello.yaml").encode())
    assert document.root["description"] == text.strip()
    assert len(document.root) == 5
    assert "# The greeting." in document.source
    assert "# shared" in document.source
    assert "<script>" not in developer.get(done.headers["location"]).text


def test_description_is_removed(house: House, developer: PlaygroundBrowser) -> None:
    page = press(developer, "mean", "describe", description="", draft="plain")
    assert commit(developer, page, f"{PAGE}/mean").status_code == 303
    assert "description" not in show(house, "plain", "endpoints/mean.yaml")


def test_unchanged_description_is_refused_with_the_reason(developer: PlaygroundBrowser) -> None:
    page = press(developer, "hello", "describe", description="Greets.")
    assert page.status_code == 409
    assert "Nothing would change" in read_text(page)


def test_too_long_description_is_rejected(developer: PlaygroundBrowser) -> None:
    page = press(developer, "hello", "describe", description="a" * 20_001)
    assert page.status_code == 400
    assert "'description' has 20,001 characters" in unescape(page.text)


# ---- names
@pytest.mark.parametrize(
    "fields",
    [
        {"to": "../../etc/passwd"}, {"to": "<script>alert(1)</script>"}, {"to": "hello"},
        {"to": "a" * 201}, {"to": "x", "draft": "main"}, {"to": "x", "draft": "refs/heads/x"},
        {"to": "x", "draft": "--force"}, {"to": "x", "path": "no slash"},
    ],
)  # fmt: skip
def test_hostile_name_is_rejected_and_shown_as_text(
    house: House, developer: PlaygroundBrowser, fields: dict[str, str]
) -> None:
    before = git(house.folder / "shop", "for-each-ref")
    page = press(developer, "hello", "copy", **({"path": "/x"} | fields))
    if 'name="plan"' in page.text:  # the live branch is refused by the commit
        page = commit(developer, page, f"{PAGE}/hello")
    assert page.status_code in {200, 400, 409}
    assert 'class="error"' in page.text or page.status_code == 400
    assert "<script>" not in page.text
    assert git(house.folder / "shop", "for-each-ref") == before


@pytest.mark.parametrize("op", ["copy", "delete", "docs", "describe"])
def test_unknown_endpoint_is_404(developer: PlaygroundBrowser, op: str) -> None:
    page = press(developer, "helo", op)
    assert page.status_code == 404
    assert f'href="{PAGE}/hello"' in page.text
    found = developer.call("endpoints/change", op=op, endpoint="helo")
    assert found.status_code == 404
    assert "did you mean 'hello'" in found.text


@pytest.mark.parametrize("op", ["", "drop", "copy;delete"])
def test_unknown_operation_is_400(developer: PlaygroundBrowser, op: str) -> None:
    page = press(developer, "hello", op)
    assert page.status_code == 400


def test_endpoint_of_a_table_is_not_changed_alone(developer: PlaygroundBrowser) -> None:
    shown = read_text(developer.get(f"{PAGE}/board/list"))
    assert "bbops expand endpoints/board" in shown
    assert "Duplicate" not in shown
    page = press(developer, "board/list", "delete")
    assert page.status_code == 409
    assert "'bbops expand endpoints/board'" in unescape(page.text)


# ---- stale plans
def test_stale_plan_is_refused_with_a_new_preview(
    house: House, developer: PlaygroundBrowser
) -> None:
    page = press(developer, "hello", "describe", description="New.", draft="stale")
    house.agent().change("stale", {"op": "put", "ref": "doc/one", "body": {"text": "# One"}})
    wait_for(lambda: house.control.outlines.drafts_of("shop").find("stale") is not None)
    refused = commit(developer, page, f"{PAGE}/hello")
    assert refused.status_code == 409
    assert "the plan builds on" in unescape(refused.text)
    assert "New." in refused.text
    assert commit(developer, refused, f"{PAGE}/hello").status_code == 303
    assert "New." in show(house, "stale", "endpoints/hello.yaml")
    assert show(house, "stale", "docs/one.md") == "# One"


@pytest.mark.parametrize("plan", ["", "x", f"p1.{'a' * 40}.{'b' * 40}.{'0' * 40}"])
def test_forged_plan_commits_nothing(house: House, developer: PlaygroundBrowser, plan: str) -> None:
    before = git(house.folder / "shop", "for-each-ref")
    fields = {"op": "docs", "docs": "hidden", "draft": "forged", "plan": plan, "do": "commit"}
    assert developer.submit(f"{PAGE}/hello", **fields).status_code == 409
    assert git(house.folder / "shop", "for-each-ref") == before


# ---- roles
@pytest.mark.parametrize("name", ["viewer", "stranger", ""])
def test_others_see_no_buttons_and_are_refused(house: House, name: str) -> None:
    browser = PlaygroundBrowser(house, name)
    before = git(house.folder / "shop", "for-each-ref")
    assert "Duplicate" not in browser.get(f"{PAGE}/hello").text
    statuses = {
        press(browser, "hello", "delete").status_code,
        browser.call("endpoints/change", op="delete", endpoint="hello").status_code,
        browser.call("endpoints/change/commit", draft="x", plan="x", message="x").status_code,
        browser.submit("/projects/shop/proposals", branch="x").status_code,
    }
    assert statuses <= {401, 403, 404, 303}
    assert git(house.folder / "shop", "for-each-ref") == before


def test_form_without_its_token_is_refused(developer: PlaygroundBrowser) -> None:
    assert press(developer, "hello", "delete", csrf="x").status_code == 403


# ---- proposals
def test_draft_is_proposed_from_the_notice(house: House, developer: PlaygroundBrowser) -> None:
    page = press(developer, "add", "docs", docs="hidden", draft="propose-me")
    done = commit(developer, page, f"{PAGE}/add")
    shown = developer.get(done.headers["location"])
    assert 'name="branch" value="propose-me"' in shown.text
    proposed = developer.submit("/projects/shop/proposals", branch="propose-me")
    found = re.fullmatch(r"/projects/shop/proposals/(\d+)", proposed.headers["location"])
    assert found is not None
    assert "propose" in {entry.action for entry in house.book.audit.list()}
    assert "Hide endpoint add from the docs" in developer.get(proposed.headers["location"]).text
    again = developer.submit("/projects/shop/proposals", branch="propose-me")
    assert again.headers["location"] == proposed.headers["location"]
    drafts = house.control.outlines.drafts_of("shop")
    wait_for(lambda: drafts.find(f"proposal-{found[1]}") is not None)
    preview = f"{PAGE}/add?in=proposal-{found[1]}"
    assert "change its draft" in read_text(developer.get(preview))
    assert "Duplicate" not in read_text(developer.get(preview))
    refused = developer.submit(preview, op="delete")
    assert "is the preview of proposal" in unescape(refused.text)


@pytest.mark.parametrize("branch", ["", "nothing", "main", "--all", "refs/heads/main", "a\nb"])
def test_impossible_proposal_is_refused(developer: PlaygroundBrowser, branch: str) -> None:
    page = developer.submit("/projects/shop/proposals", branch=branch)
    assert page.status_code == 409
    assert 'class="error"' in page.text


# ---- the API
def test_api_previews_and_commits(house: House, developer: PlaygroundBrowser) -> None:
    change = {"op": "copy", "endpoint": "hello", "to": "api/copy", "path": "/api", "draft": "api"}
    preview = developer.call("endpoints/change", **change).json()
    assert (preview["ok"], preview["draft"], preview["problems"]) == (True, "api", [])
    assert preview["effects"] == ["added GET /api: authentication None"]
    plan = {"draft": "api", "plan": preview["plan"], "message": preview["message"]}
    done = developer.call("endpoints/change/commit", **plan).json()
    assert done["files"] == ["endpoints/api/copy.yaml"]
    entry = next(each for each in house.book.audit.list() if each.action == "commit to draft")
    assert entry.who == "developer@example.com"
    again = developer.call("endpoints/change/commit", **plan).json()
    assert again["commit"] == done["commit"]
    assert developer.call("endpoints/change", **change).status_code == 409


# ---- repositories elsewhere
def run_command(clone: Path, command: str) -> None:
    done = subprocess.run(
        ["bash", "-e", "-c", command], cwd=clone / "endpoints", capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("endpoint", "fields"),
    [
        ("hello", {"op": "describe", "description": "It's\nPATCH\n$(touch /tmp/x) `id`"}),
        ("hello", {"op": "describe", "description": "é 'x' " * 3_000 + "end"}),
        ("hello", {"op": "copy", "to": "more/hello", "path": "/more"}),
        ("inline", {"op": "delete"}),
    ],
)
def test_patch_of_a_repository_elsewhere_applies_in_a_clone(
    house: House, developer: PlaygroundBrowser, tmp_path: Path, endpoint: str,
    fields: dict[str, str],
) -> None:  # fmt: skip
    url = f"/projects/away/endpoints/{endpoint}"
    page = developer.submit(url, **fields)
    assert page.status_code == 200, read_text(page)
    assert 'name="plan"' not in page.text
    found = re.search(r'aria-label="Command">(.*?)</pre>', page.text, re.DOTALL)
    assert found is not None
    git(tmp_path, "clone", "-q", str(house.folder / "away"), "clone")
    clone = tmp_path / "clone"
    run_command(clone, unescape(found[1]))
    body: dict[str, Any] = {key: value for key, value in fields.items() if key != "op"}
    change = {"op": fields["op"], "endpoint": endpoint, **body}
    preview = developer.call("/api/projects/away/endpoints/change", **change).json()
    assert git(clone, "branch", "--show-current") == preview["draft"]
    assert git(clone, "log", "-1", "--format=%s") == preview["message"]
    assert git(clone, "status", "--porcelain") == ""
    if "description" in fields:
        text = (clone / "endpoints/hello.yaml").read_bytes()
        assert load(text).root["description"] == fields["description"]
        assert b"# shared" in text


def test_commit_of_a_repository_elsewhere_is_refused(developer: PlaygroundBrowser) -> None:
    fields = {"op": "docs", "docs": "hidden", "plan": "x", "do": "commit", "draft": "a"}
    page = developer.submit("/projects/away/endpoints/hello", **fields)
    assert page.status_code == 409
    assert "kept elsewhere" in page.text
