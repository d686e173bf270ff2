"""The Build pages: endpoints, functions, tables, channels, values and addons of a project."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import pytest

from bbops.base.errors import ServerError
from bbops.interfaces.answers import ProjectCondition
from bbops_server.accounts.rules import Role
from bbops_server.control_plane.web.outlines import OutlineCache
from bbops_server.data_plane.live.history import History
from tests.conftest import ROOT
from tests.support.control import SINCE, Tried, tried
from tests.support.islands import without_islands
from tests.support.outlines import Source
from tests.support.recorded_requests import refused, remember
from tests.support.small_project import FILES, endpoint

__all__ = ["tried"]

PAGES: Final = ("endpoints", "functions", "tables", "channels", "addons", "values")
BUILD: Final = re.compile(rf"/projects/small/({'|'.join(PAGES)}|files)\b")
EXAMPLE: Final = ROOT / "docs/example"
FUNCTION: Final = """
description: Add a note.
input:
  title: string
steps:
  - name: Look for it
    find: { table: notes, where: title == input.title, one: true }
    as: found
  - if: vars.found != null
    then:
      - return: { status: 409, value: { error: known } }
  - insert: { table: notes, data: { title: '${ input.title }' } }
    as: note
  - email.sendEmail: { to: a@example.com, subject: Hi, text: Hello }
  - return: { status: 201, value: '${ vars.note }' }
"""
CHANNELLED: Final = {
    **FILES,
    "functions/add.yaml": FUNCTION,
    "channels/desk.yaml": "name: Desk\nbasePath: /desk\nauthentication: None\nrateLimit: 30\n",
    "endpoints/add.yaml": "method: POST\npath: /notes\nfunction: add\nchannel: desk\n",
    "tests/add.yaml": "endpoint: add\ncases:\n  - name: adds\n    input: { title: a }\n"
    "    expect: { status: 201 }\n",
}


class Elements(HTMLParser):
    """The elements of a page, as (tag, attributes)."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def every(self, *tags: str) -> list[dict[str, str | None]]:
        """Return the attributes of all elements of some kinds; of all kinds without a tag."""
        return [attributes for tag, attributes in self.found if not tags or tag in tags]


def show(tried: Tried, path: str, status: int = 200) -> str:
    """Return a page as its owner sees it."""
    answer = tried.as_person("ada@example.com").get(f"/projects/small/{path}")
    assert answer.status_code == status, answer.text
    return unescape(answer.text)


def main_text(page: str) -> str:
    """Return the text of a page without its elements."""
    return " ".join(re.sub(r"<[^>]*>", " ", page.partition("<main")[2]).split())


def walk(tried: Tried, query: str = "") -> Iterator[tuple[str, str]]:
    """Yield every page that the Build pages lead to, with its HTML."""
    browser = tried.as_person("ada@example.com")
    waiting, seen = [f"/projects/small/{page}{query}" for page in PAGES], set[str]()
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        answer = browser.get(path)
        assert answer.status_code == 200, f"{path}: {answer.text}"
        yield path, answer.text
        links = [unescape(link) for link in re.findall(r'href="([^"#]+)', answer.text)]
        waiting += [link for link in links if BUILD.match(link) and ("in=" in link) == bool(query)]


@pytest.mark.parametrize("query", ["", "?in=slug"])
def test_every_link_leads_to_its_place(tried: Tried, query: str) -> None:
    tried.source.files = tried.source.draft_files = EXAMPLE
    pages = dict(walk(tried, query))
    assert len(pages) > 100
    places = {path: {*re.findall(r'id="([^"]+)"', text)} for path, text in pages.items()}
    for text in pages.values():
        for link, place in re.findall(r'href="(/projects/small/[^"#]+)#([^"]+)"', text):
            if BUILD.match(link):
                assert place in places[unescape(link)], f"{link}#{place}"


def test_pages_can_be_used_without_scripts_and_eyes(tried: Tried) -> None:
    tried.source.files = EXAMPLE
    for path, text in walk(tried):
        elements = Elements(without_islands(text))
        assert not elements.every("script", "style"), path
        assert not [attributes for attributes in elements.every() if "style" in attributes], path
        assert len(elements.every("h1")) == 1, path
        assert all(cell.get("data-label") for cell in elements.every("td")), path
        assert all(cell.get("scope") for cell in elements.every("th")), path
        labels = {label["for"] for label in elements.every("label")}
        fields = [field for field in elements.every("input") if field.get("type") != "hidden"]
        assert {field["id"] for field in fields} <= labels, path
        ids = [attributes["id"] for _, attributes in elements.found if "id" in attributes]
        assert len(ids) == len({*ids}), path


# ---- endpoints
def test_endpoints_are_listed_by_channel(tried: Tried) -> None:
    tried.source.files = CHANNELLED
    text = main_text(show(tried, "endpoints"))
    assert "Desk /desk None · 30/min" in text
    assert "POST /desk/notes open of the channel add 1 visible" in text
    assert "GET /notes One of four. open own list none visible" in text


def test_endpoints_are_filtered_by_all_words(tried: Tried) -> None:
    page = show(tried, "endpoints?q=get+HELLO")
    assert "/endpoints/hello" in page
    assert "/endpoints/slow" not in page
    assert 'value="get HELLO"' in page
    assert "No endpoint matches “nothing”" in show(tried, "endpoints?q=nothing")


def test_long_lists_have_pages(tried: Tried) -> None:
    many = {
        f"endpoints/e{number:03}.yaml": endpoint("GET", f"/e{number:03}", "list")
        for number in range(450)
    }
    tried.source.files = FILES | many
    first, last = show(tried, "endpoints"), show(tried, "endpoints?page=3")
    assert first.count("<tr>") == 201
    assert "1-200 of 454" in first
    assert 'href="/projects/small/endpoints?page=2"' in first
    assert "401-454 of 454" in last
    assert 'rel="next"' not in last
    assert "page=2" in show(tried, "endpoints?q=e")
    show(tried, "endpoints?page=0", 400)


def test_endpoints_of_a_channel_have_pages(tried: Tried) -> None:
    many = {
        f"endpoints/e{number:03}.yaml": f"method: GET\npath: /e{number:03}\nfunction: list\n"
        "channel: desk\n"
        for number in range(250)
    }
    tried.source.files = CHANNELLED | many
    first, last = show(tried, "channels/desk"), show(tried, "channels/desk?page=2")
    assert "1-200 of 251" in first
    assert 'href="/projects/small/channels/desk?page=2"' in first
    assert "201-251 of 251" in last
    assert "No endpoint names" not in show(tried, "channels/desk?page=9")


def test_endpoint_shows_its_definition(tried: Tried) -> None:
    tried.source.files = CHANNELLED
    text = main_text(show(tried, "endpoints/add"))
    for expected in (
        "POST /desk/notes", "Channel desk", "Rate limit 30/min", "Function add", "Tables notes",
        "File endpoints/add.yaml:1", "title body string yes",
    ):  # fmt: skip
        assert expected in text


def test_endpoint_shows_tests_and_yaml(tried: Tried) -> None:
    tried.source.files = CHANNELLED
    assert "adds :3" in main_text(show(tried, "endpoints/add?tab=tests"))
    assert "bbops new test list" in show(tried, "endpoints/list?tab=tests")
    yaml = show(tried, "endpoints/add?tab=yaml")
    assert '<span class="line" id="L3">' in yaml
    assert '<code><span class="k">function</span>: add</code>' in yaml


def test_long_files_are_cut(tried: Tried) -> None:
    tried.source.files = {**FILES, "functions/add.yaml": FILES["functions/add.yaml"] + "\n" * 9_000}
    page = show(tried, "functions/add?tab=yaml")
    assert "The first 5,000 of 9006 lines." in main_text(page)
    assert 'id="L5000"' in page
    assert 'id="L5001"' not in page


def test_requests_are_shown_to_developers(tried: Tried) -> None:
    assert tried.source.folder is not None
    record(tried.source.folder / "history.sqlite", "hello", 503)
    record(tried.source.folder / "history.sqlite", "slow", 201)
    page = show(tried, "endpoints/hello?tab=requests")
    assert "503" in main_text(page)
    assert "201" not in main_text(page)
    tried.add("dev@example.com", project=Role.DEVELOPER)
    tried.add("view@example.com", project=Role.VIEWER)
    path = "/projects/small/endpoints/hello?tab=requests"
    assert "503" in main_text(tried.as_person("dev@example.com").get(path).text)
    viewed = tried.as_person("view@example.com").get(path)
    assert (viewed.status_code, "503" in main_text(viewed.text)) == (200, False)
    assert "tab=requests" not in viewed.text.partition("<main")[2]


def test_requests_of_an_endpoint_have_their_reasons(tried: Tried) -> None:
    assert tried.source.folder is not None
    place = {"place": "functions/hello.yaml:2"}
    remember(tried.source.folder / "history.sqlite", refused(endpoint="hello", refusal=place))
    text = main_text(show(tried, "endpoints/hello?tab=requests"))
    assert "invalidInput: the request has invalid values (name: must be text) functions/" in text


def record(path: Path, endpoint: str, status: int) -> None:
    """Write a request into a history."""
    history = History(path)
    history.remember((
        perf_counter(), "GET", f"/{endpoint}", f"/{endpoint}", status, 1.25, None, "0123456789ab",
        0, 2, b"abc1", endpoint, "", "", [], None,
    ))  # fmt: skip
    history.close()


# ---- functions
def test_steps_are_nested_with_their_lines(tried: Tried) -> None:
    tried.source.files = CHANNELLED
    page = show(tried, "functions/add")
    text = main_text(page)
    assert "1 Look for it notes · title == input.title · one: true found :6" in text
    assert "2 If/Else vars.found != null :9 then 1 Return status: 409 · value: error :11" in text
    assert "addon off" in text
    assert "functions/add.yaml:14 'email.sendEmail' fails when it runs" in text
    assert 'href="/projects/small/files/functions/add.yaml#L9"' in page
    assert "Endpoints add" in text


def test_functions_say_what_runs_them(tried: Tried) -> None:
    text = main_text(show(tried, "functions"))
    assert "add 2 1 endpoint notes none" in text
    assert "list 2 1 endpoint notes none" in text


def test_inline_steps_belong_to_their_endpoint(tried: Tried) -> None:
    inline = "method: GET\npath: /x\nauthentication: None\nsteps:\n  - return: { value: 1 }\n"
    tried.source.files = {**FILES, "endpoints/own/steps.yaml": inline}
    assert "own/steps" not in main_text(show(tried, "functions"))
    text = main_text(show(tried, "endpoints/own/steps?tab=function"))
    assert "1 Return value: 1 :5" in text
    assert "/endpoints/own/steps?tab=function" in show(tried, "endpoints")


# ---- tables, channels, values, addons
def test_table_shows_columns_and_uses(tried: Tried) -> None:
    text = main_text(show(tried, "tables/notes"))
    assert "id integer primary increment" in text
    assert "Read by list Written by add Endpoints add , list" in text
    assert "No rules: every function may read and write all rows." in text


def test_channel_shows_its_endpoints(tried: Tried) -> None:
    tried.source.files = CHANNELLED
    assert "Desk /desk None 30/min 1" in main_text(show(tried, "channels"))
    text = main_text(show(tried, "channels/desk"))
    assert "Origins *" in text
    assert "POST /desk/notes open of the channel 30/min add" in text


def test_values_are_never_shown(tried: Tried) -> None:
    tried.source.files = {
        **FILES,
        "project.yaml": FILES["project.yaml"] + "  KEY: { secret: true, description: A key. }\n",
    }
    text = main_text(show(tried, "values"))
    assert "KEY secret A key. missing nothing bbops env set KEY" in text
    assert "1 variable has no value" in text
    assert "GREETING default functions/hello.yaml:2" in text
    assert "hello " not in text
    tried.source.values = frozenset({"KEY"})
    text = main_text(show(tried, "values"))
    assert "KEY secret A key. set" in text
    assert "no value" not in text


def test_values_that_the_newest_commit_lacks_are_named(tried: Tried) -> None:
    stalled = ProjectCondition(
        "Stalled", status=True, reason="EnvMissing", message="no value for MAIL_HOST", since=SINCE
    )
    tried.source.status_changes = {"conditions": [stalled], "diagnostics": []}
    assert "The newest commit is not live : no value for MAIL_HOST" in main_text(
        show(tried, "values")
    )
    assert "MAIL_HOST" not in main_text(show(tried, "values?in=slug"))


def test_addon_without_a_file_says_what_is_missing(tried: Tried) -> None:
    tried.source.files = CHANNELLED
    text = main_text(show(tried, "addons"))
    assert "email not enabled" in text
    assert "functions/add.yaml:14" in text
    assert "bbops new addon email" in text


# ---- states
@pytest.mark.parametrize(
    ("page", "command"),
    [
        ("endpoints", "bbops new endpoint"), ("functions", "bbops new function"),
        ("tables", "bbops new table"), ("channels", "bbops new channel"),
        ("addons", "bbops new addon"), ("values", "bbops env set"),
    ],
)  # fmt: skip
def test_empty_pages_show_a_command(tried: Tried, page: str, command: str) -> None:
    tried.source.files = {"project.yaml": "bbops: 1\nname: small\n"}
    assert command in main_text(show(tried, page))


@pytest.mark.parametrize("page", [*PAGES, "endpoints/add", "functions/add", "files/project.yaml"])
def test_errors_of_a_draft_are_shown_in_place_of_its_resources(tried: Tried, page: str) -> None:
    broken = FILES["endpoints/add.yaml"].replace("function: add", "function: ad")
    tried.source.draft_files = {**FILES, "endpoints/add.yaml": broken}
    text = main_text(show(tried, f"{page}?in=slug"))
    assert "endpoints/add.yaml:3:11 error unknown-function function 'ad' does not exist" in text
    assert "did you mean 'add'?" in text
    assert "unknown-function" not in main_text(show(tried, page))


@pytest.mark.parametrize(
    ("path", "near"),
    [
        ("endpoints/hallo", "hello"), ("functions/lists", "list"), ("tables/note", "notes"),
        ("channels/desks", "desk"), ("functions/%3Cimg%3E", ""), ("endpoints/../x", ""),
    ],
)  # fmt: skip
def test_unknown_names_are_404_with_similar_names(tried: Tried, path: str, near: str) -> None:
    tried.source.files = CHANNELLED
    kind = path.partition("/")[0]
    answer = tried.as_person("ada@example.com").get(f"/projects/small/{path}")
    assert answer.status_code == 404
    assert f'href="/projects/small/{kind}/{near}"' in answer.text or not near
    assert "<img>" not in answer.text


def test_unknown_project_and_draft_are_404(tried: Tried) -> None:
    browser = tried.as_person("ada@example.com")
    assert browser.get("/projects/none/endpoints").status_code == 404
    assert browser.get("/projects/small/endpoints?in=none").status_code == 404
    assert browser.get("/projects/small/files/README.md").status_code == 404


def test_project_without_a_live_commit_gives_the_reason(tried: Tried) -> None:
    tried.source.error = ServerError("nothing is live yet", hint="push a commit")
    text = main_text(show(tried, "endpoints"))
    assert "Nothing is live yet; push a commit." in text
    assert "has errors" not in text


def test_counts_are_beside_the_links(tried: Tried) -> None:
    page = show(tried, "tables").partition("<aside")[2].partition("</aside")[0]
    counts = dict(re.findall(r'<span>(\w+)</span><span class="count">(\d+)</span>', page))
    assert counts == {"Endpoints": "4", "Functions": "4", "Tables": "1", "Channels": "0",
                      "Addons": "0", "Values": "2", "Realtime": "0", "Agents": "0"}  # fmt: skip


MEAN: Final = "</script><img src=x onerror=alert(1)>{{ 7*7 }}"


def hostile() -> Source:
    """Return a project whose texts are payloads."""
    text = MEAN
    about = f"description: '{text}'\n"
    return {
        "project.yaml": f"bbops: 1\nname: small\n{about}env:\n  KEY: {{ description: '{text}' }}\n",
        "tables/notes.yaml": about + "columns:\n  id: { type: integer, primaryKey: true,"
        f" description: '{text}' }}\n  kind: {{ type: string, enum: ['{text}'] }}\n",
        "channels/desk.yaml": f"name: '{text}'\nbasePath: /x\nauthentication: None\n",
        "functions/run.yaml": f"{about}query:\n  'a?': {{ type: string, description: '{text}' }}\n"
        f"steps:\n  - name: '{text}'\n    log: {{ message: '<img src=x>' }}\n"
        "  - return: { value: 1 }\n",
        "endpoints/run.yaml": f"method: GET\npath: /run\nchannel: desk\nfunction: run\n{about}",
        "tests/run.yaml": f"endpoint: run\ncases:\n  - name: '{text}'\n    expect: {{}}\n",
    }


def test_texts_of_a_project_are_escaped(tried: Tried) -> None:
    tried.source.files = hostile()
    shown = 0
    for path, text in walk(tried):
        elements = Elements(without_islands(text))
        assert not [image for image in elements.every("img") if image.get("src") == "x"], path
        assert not elements.every("script"), path
        assert "49" not in main_text(text), path
        shown += text.count("onerror")
    assert shown > 10


def every_role(tried: Tried) -> Iterator[tuple[str, Any]]:
    """Yield a person of each role in the project, with their browser."""
    for role in Role:
        tried.add(f"{role}@example.com", project=role)
        yield role, tried.as_person(f"{role}@example.com")


def test_pages_are_for_members_only(tried: Tried) -> None:
    for role, browser in every_role(tried):
        assert browser.get("/projects/small/tables/notes").status_code == 200, role
    tried.add("stranger@example.com")
    assert tried.as_person("stranger@example.com").get("/projects/small/tables").status_code == 404


def test_playground_says_why_a_project_on_postgresql_has_no_drafts(tried: Tried) -> None:
    settings = FILES["project.yaml"] + "database: { engine: postgres }\n"
    assert "Drafts run on SQLite" not in show(tried, "playground")
    tried.source.files = {**FILES, "project.yaml": settings}
    tried.control.outlines = OutlineCache(lambda: tried.source)  # type: ignore[arg-type,return-value]
    assert "Drafts run on SQLite" in show(tried, "playground")
