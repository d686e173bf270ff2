"""The Playground: requests of each role to live and to drafts, with hostile input and output."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from bbops_server.accounts.limits import Limit
from bbops_server.accounts.people import NewPerson
from bbops_server.accounts.rules import Role
from bbops_server.control_plane.playground.sending import (
    MAX_INPUT_BYTES,
    MAX_RUNNING,
)
from bbops_server.data_plane.live.history import find
from bbops_server.data_plane.live.playground import SENDER_HEADER, write_sender
from tests.support.agents_at_server import House
from tests.support.islands import without_islands
from tests.support.patience import wait_for
from tests.support.playground import MEAN, PlaygroundBrowser, make_house, read_text

DRAFT = "topic"
PAGE = "/projects/shop/playground"
OTHER = "/projects/other/playground"


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with make_house(tmp_path_factory.mktemp("play")) as house:
        house.agent().change(DRAFT, {"op": "put", "ref": "doc/one", "body": {"text": "# One"}})
        drafts = house.control.status.drafts("shop")
        assert drafts is not None
        wait_for(lambda: drafts.find(DRAFT) is not None)
        yield house


@pytest.fixture(autouse=True)
def no_limit(house: House) -> None:
    house.control.limits.playground = Limit(1_000, 60)


@pytest.fixture(scope="module")
def maintainer(house: House) -> PlaygroundBrowser:
    return PlaygroundBrowser(house, "maintainer")


@pytest.fixture(scope="module")
def developer(house: House) -> PlaygroundBrowser:
    return PlaygroundBrowser(house, "developer")


@pytest.fixture(scope="module")
def viewer(house: House) -> PlaygroundBrowser:
    return PlaygroundBrowser(house, "viewer")


def error(response: httpx.Response) -> str:
    message: str = response.json()["error"]["message"]
    return message


# ---- live
def test_get_is_sent_to_live_with_its_sender(house: House, developer: PlaygroundBrowser) -> None:
    result = developer.send("hello").json()
    assert (result["status"], result["draft"], result["target"]) == (200, "", "/hello")
    assert '"version":1' in result["body"]
    assert result["snippets"]["curl"] == f"curl {house.plane.settings.data_url}/shop/hello"
    name = dict(result["headers"])["x-request-id"]
    history = house.control.status.history("shop")
    assert history is not None
    wait_for(lambda: any(each["request"] == name for each in find(history)))
    (request,) = [each for each in find(history) if each["request"] == name]
    assert (request["sender"], request["path"]) == ("developer@example.com", "/hello")


def test_other_requests_have_no_sender(house: House) -> None:
    name = house.api.get("/shop/hello").headers["x-request-id"]
    history = house.control.status.history("shop")
    assert history is not None
    wait_for(lambda: any(each["request"] == name for each in find(history)))
    assert [each["sender"] for each in find(history) if each["request"] == name] == [""]


@pytest.mark.parametrize("header", [None, "", "x", write_sender(b"k" * 32, "ada", 2e9), "é.1.2"])
def test_forged_sender_is_rejected(house: House, header: str | None) -> None:
    headers = {} if header is None else {SENDER_HEADER: header.encode()}
    assert house.api.get("/~playground/shop/hello", headers=headers).status_code == 404  # type: ignore[arg-type]


def test_change_of_live_data_is_confirmed_and_audited(
    house: House, maintainer: PlaygroundBrowser
) -> None:
    title = {"title": "Milk"}
    refused = maintainer.send("add", body=title)
    assert refused.status_code == 409
    assert error(refused) == "'POST /notes' may change live data; confirm it first"
    assert maintainer.send("add", body=title, confirm=True).json()["status"] == 201
    newest = house.book.audit.list(limit=1)[0]
    assert (newest.who, newest.action) == ("maintainer@example.com", "send live request")
    assert newest.object == "shop POST /notes"


def test_each_role_sends_only_what_it_may(
    house: House, developer: PlaygroundBrowser, viewer: PlaygroundBrowser
) -> None:
    assert viewer.send("hello").status_code == 403
    assert developer.send("hello").status_code == 200
    refused = developer.send("add", body={"title": "Milk"}, confirm=True)
    assert refused.status_code == 403
    assert "the role required is 'maintainer'" in error(refused)
    assert viewer.send("hello", draft=DRAFT).status_code == 200
    as_user = {"user": {"id": 7}}
    assert viewer.send("me", draft=DRAFT, **{"as": as_user}).status_code == 403
    stranger = PlaygroundBrowser(house, "stranger")
    assert stranger.send("hello").status_code == 404
    assert stranger.get(PAGE).status_code == 404
    assert PlaygroundBrowser(house, "").send("hello").status_code == 401


def test_disabled_colleague_sends_nothing(house: House) -> None:
    person = house.book.people.add(NewPerson("gone@example.com", "Gone", role=Role.DEVELOPER))
    house.people["gone"] = person.id
    browser = PlaygroundBrowser(house, "gone")
    assert browser.send("hello").status_code == 200
    house.book.people.disable(person.id)
    assert browser.send("hello").status_code == 401


# ---- the project's login
LOGIN = {"email": "ada@example.com", "password": "correct"}


def test_request_is_signed_in_by_the_projects_login(developer: PlaygroundBrowser) -> None:
    result = developer.send("me", draft=DRAFT, **{"as": {"login": LOGIN}}).json()
    assert (result["status"], result["body"]) == (200, '{"user":7}')
    assert "$TOKEN" in result["snippets"]["curl"]
    assert "eyJ" not in str(result)


def test_refusing_login_ends_the_request_with_its_answer(developer: PlaygroundBrowser) -> None:
    wrong = {**LOGIN, "password": "guess"}
    refused = developer.send("me", draft=DRAFT, **{"as": {"login": wrong}})
    assert refused.status_code == 400
    assert "the login answered 401 Unauthorized: " in error(refused)
    assert "Wrong email or password" in error(refused)
    assert "guess" not in error(refused)


def test_token_of_a_login_that_no_header_can_carry_is_refused(
    developer: PlaygroundBrowser,
) -> None:
    refused = developer.send("me", draft=DRAFT, **{"as": {"login": LOGIN | {"password": "odd"}}})
    assert (refused.status_code, "line break" in error(refused)) == (400, True)


def test_login_to_live_is_a_confirmed_and_audited_change(
    house: House, maintainer: PlaygroundBrowser, developer: PlaygroundBrowser
) -> None:
    refused = developer.send("me", confirm=True, **{"as": {"login": LOGIN}})
    assert refused.status_code == 403
    refused = maintainer.send("me", **{"as": {"login": LOGIN}})
    assert (refused.status_code, error(refused)) == (
        409, "'POST /login' may change live data; confirm it first",
    )  # fmt: skip
    assert maintainer.send("me", confirm=True, **{"as": {"login": LOGIN}}).json()["status"] == 200
    assert house.book.audit.list(limit=1)[0].object == "shop POST /login"


def test_login_excludes_other_callers(developer: PlaygroundBrowser) -> None:
    both = {"login": LOGIN, "user": {"id": 7}}
    refused = developer.send("me", draft=DRAFT, **{"as": both})
    assert error(refused) == "'user', 'credential' and 'login' exclude each other; send one of them"


def test_comparison_with_live_takes_no_login(maintainer: PlaygroundBrowser) -> None:
    refused = maintainer.call(
        f"drafts/{DRAFT}/playground/compare", endpoint="me", **{"as": {"login": LOGIN}}
    )
    assert refused.status_code == 400
    assert "a login to live may change it" in error(refused)


def test_page_sends_the_login_of_its_fields_and_forgets_the_password(
    developer: PlaygroundBrowser,
) -> None:
    shown = developer.submit(
        f"{PAGE}/me?in={DRAFT}", **{"as": "login"}, login__body__email=LOGIN["email"],
        login__body__password=LOGIN["password"],
    )  # fmt: skip
    assert shown.status_code == 200
    assert "200 OK" in shown.text
    assert 'value="ada@example.com"' in shown.text
    assert 'value="correct"' not in shown.text


def test_page_offers_a_login_to_live_to_maintainers_alone(
    maintainer: PlaygroundBrowser, developer: PlaygroundBrowser
) -> None:
    assert 'value="login"' in maintainer.get(f"{PAGE}/me").text
    assert 'value="login"' not in developer.get(f"{PAGE}/me").text
    assert 'value="login"' in developer.get(f"{PAGE}/me?in={DRAFT}").text


def test_page_asks_before_it_logs_in_to_live(maintainer: PlaygroundBrowser) -> None:
    shown = maintainer.submit(
        f"{PAGE}/me", **{"as": "login"}, login__body__email=LOGIN["email"],
        login__body__password=LOGIN["password"],
    )  # fmt: skip
    assert "Nothing has been sent yet" in shown.text


# ---- drafts
@pytest.mark.parametrize("user", [{"id": 7}, {"email": "ada@example.com"}])
def test_request_is_signed_in_as_a_user_of_the_draft(
    developer: PlaygroundBrowser, user: Any
) -> None:
    result = developer.send("me", draft=DRAFT, **{"as": {"user": user}}).json()
    assert (result["status"], result["body"], result["draft"]) == (200, '{"user":7}', DRAFT)
    assert "-H 'x-draft-token: '\"$DRAFT_TOKEN\"" in result["snippets"]["curl"]
    assert "bbd_" not in str(result)


def test_unknown_user_and_users_of_live_are_refused(developer: PlaygroundBrowser) -> None:
    unknown = developer.send("me", draft=DRAFT, **{"as": {"user": {"id": 8}}})
    assert "has no row with this id" in error(unknown)
    live = developer.send("me", **{"as": {"user": {"id": 7}}})
    assert "only drafts can sign in as a user" in error(live)


def test_credential_is_used_once_and_kept_nowhere(
    house: House, developer: PlaygroundBrowser
) -> None:
    secret = "not-a-token-of-anybody"
    sent = developer.send("me", **{"as": {"credential": secret}})
    assert sent.json()["status"] == 401
    assert secret not in sent.text
    calls = developer.request("GET", "/api/projects/shop/playground/calls?endpoint=me")
    assert calls.json()[0]["status"] == 401
    assert secret not in calls.text
    refused = developer.send("me", **{"as": {"credential": f"{secret}\r\nx-a: 1"}})
    assert refused.status_code == 400
    assert secret not in refused.text


def test_draft_of_another_project_is_unknown(developer: PlaygroundBrowser) -> None:
    path = f"/api/projects/other/drafts/{DRAFT}/playground"
    assert developer.call(path, endpoint="hello").status_code == 404
    assert developer.get(f"{OTHER}/hello?in={DRAFT}").status_code == 404


def test_draft_is_compared_with_live(house: House, developer: PlaygroundBrowser) -> None:
    house.agent().change(
        "new-hello",
        {"op": "put", "ref": "function/hello", "path": ["steps", 0, "return", "value", "version"],
         "value": 2},
    )  # fmt: skip
    drafts = house.control.status.drafts("shop")
    assert drafts is not None
    wait_for(lambda: drafts.find("new-hello") is not None)
    compared = developer.call("drafts/new-hello/playground/compare", endpoint="hello").json()
    assert compared["differences"] == [{"at": "/version", "live": "1", "draft": "2"}]
    refused = developer.call(f"drafts/{DRAFT}/playground/compare", endpoint="add")
    assert "only GET requests are compared" in error(refused)


# ---- limits
def test_requests_are_limited_per_user(
    house: House, developer: PlaygroundBrowser, viewer: PlaygroundBrowser
) -> None:
    house.control.limits.playground = Limit(1, 60)
    assert developer.send("hello", draft=DRAFT).status_code == 200
    refused = developer.send("hello", draft=DRAFT)
    assert refused.status_code == 429
    assert int(refused.headers["retry-after"]) > 0
    assert viewer.send("hello", draft=DRAFT).status_code == 200


def test_running_requests_are_limited_per_user(
    house: House, developer: PlaygroundBrowser, viewer: PlaygroundBrowser
) -> None:
    running = house.control.running_requests
    running[house.people["developer"]] = MAX_RUNNING
    try:
        refused = developer.send("hello", draft=DRAFT)
        assert refused.status_code == 429
        assert error(refused) == "4 of your requests are running; wait for one of them"
        assert viewer.send("hello", draft=DRAFT).status_code == 200
    finally:
        del running[house.people["developer"]]
    assert developer.send("hello", draft=DRAFT).status_code == 200
    assert not running


def test_large_input_is_refused(developer: PlaygroundBrowser) -> None:
    refused = developer.send("echo", draft=DRAFT, body={"text": "x" * MAX_INPUT_BYTES})
    assert refused.status_code == 413
    assert "at most 1,048,576 can be sent" in error(refused)
    assert developer.send("echo", bodyText="x" * 3 * MAX_INPUT_BYTES).status_code == 413


def test_large_response_is_cut(developer: PlaygroundBrowser) -> None:
    result = developer.send("echo", draft=DRAFT, body={"text": "é" * 400_000}).json()
    assert (result["status"], result["isCut"], result["sizeBytes"]) == (200, True, 256 << 10)
    assert result["body"].startswith('{"texts":["éé')
    page = developer.submit(f"{PAGE}/echo?in={DRAFT}", body__text="x" * 100_000)
    assert "The rest was not read" in page.text


# ---- hostile input and responses
def test_redirect_is_shown_and_not_followed(developer: PlaygroundBrowser) -> None:
    result = developer.send("away").json()
    assert result["status"] == 302
    assert ["location", "http://127.0.0.1:1/"] in result["headers"]


@pytest.mark.parametrize("draft", ["", DRAFT])
def test_failure_names_its_step(developer: PlaygroundBrowser, draft: str) -> None:
    result = developer.send("fails", draft=draft).json()
    assert result["status"] >= 400
    assert result["step"] == "functions/fails.yaml:2"
    assert result["failure"]


@pytest.mark.parametrize("draft", ["", DRAFT])
def test_trace_has_each_step_with_its_line_and_statement(
    developer: PlaygroundBrowser, maintainer: PlaygroundBrowser, draft: str
) -> None:
    browser = developer if draft else maintainer
    result = browser.send("add", draft=draft, body={"title": "A"}, confirm=True).json()
    assert result["status"] == 201, result
    steps = [span["place"] for span in result["trace"] if span["kind"] == "step"]
    assert steps == ["functions/add.yaml:4", "functions/add.yaml:6"]
    statements = [span for span in result["trace"] if span["kind"] == "sql"]
    assert [(span["rows"], span["depth"]) for span in statements] == [(1, 1)]
    assert "INSERT" in statements[0]["detail"]


@pytest.mark.parametrize("draft", ["", f"?in={DRAFT}"])
def test_page_shows_the_trace_with_links_to_the_lines(
    developer: PlaygroundBrowser, draft: str
) -> None:
    page = developer.submit(f"{PAGE}/list{draft}").text
    assert '<h2 id="trace">Trace</h2>' in page
    assert "functions/list.yaml:2" in page
    assert "files/functions/list.yaml" in page
    assert "SELECT" in page


def test_response_is_escaped(developer: PlaygroundBrowser) -> None:
    page = developer.submit(f"{PAGE}/mean")
    assert "<script" not in without_islands(page.text)
    assert "<img" not in page.text.replace('<img src="/icon.svg"', "")
    assert "alert(1)" in page.text
    assert page.headers["cache-control"] == "no-store"


def test_typed_values_are_escaped(developer: PlaygroundBrowser) -> None:
    page = developer.submit(f"{PAGE}/echo?in={DRAFT}", body__text=MEAN, headers=f"x-a: {MEAN}")
    assert page.status_code == 200
    assert "<script" not in without_islands(page.text)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"headers": {"x-a": "1\r\nx-b: 2"}}, "line break"),
        ({"headers": {"Host": "evil.example"}}, "'host' cannot be sent"),
        ({"headers": {SENDER_HEADER: "x"}}, "cannot be sent"),
        ({"body": 1, "bodyText": "2"}, "exclude each other"),
        ({"url": "http://evil.example"}, "unknown field 'url'"),
        ({"endpoint": "http://evil.example"}, "there is no endpoint"),
        ({"as": {"scheme": "none", "credential": "x"}}, "there is no scheme 'none'"),
        ({"files": [{"field": "f", "name": "a", "base64": "%"}]}, "is not base64"),
    ],
)
def test_bad_input_is_explained(
    developer: PlaygroundBrowser, more: dict[str, Any], words: str
) -> None:
    refused = developer.call("playground", **({"endpoint": "hello"} | more))
    assert refused.status_code in {400, 404}
    assert words in error(refused)


@pytest.mark.parametrize("token", ["..", ".", "a/../../hello", "?x=1", "#", "a%2fb", "\r\n", "é"])
def test_path_parameter_leads_nowhere_else(developer: PlaygroundBrowser, token: str) -> None:
    result = developer.send("secret", path={"token": token}).json()
    assert result["status"] == 200
    assert '"version":1' in result["body"]


def test_hidden_endpoint_has_a_form_but_no_contract(developer: PlaygroundBrowser) -> None:
    assert developer.get(f"{PAGE}/secret").status_code == 200
    contract = developer.request("GET", "/api/projects/shop/contract?format=json").json()
    assert "secret" not in [each["id"] for each in contract["operations"]]
    assert developer.request(
        "GET", "/api/projects/shop/contract?format=complete"
    ).status_code == 400  # fmt: skip


# ---- last calls
def test_last_calls_are_own_masked_and_deletable(
    developer: PlaygroundBrowser, viewer: PlaygroundBrowser
) -> None:
    developer.send("echo", draft=DRAFT, body={"text": "Milk", "password": "hidden"})
    path = "/api/projects/shop/playground/calls?endpoint=echo"
    (newest, *_) = developer.request("GET", path).json()
    assert newest["draft"] == DRAFT
    assert newest["form"]["body"] == '{"text": "Milk", "password": "***"}'
    assert viewer.request("GET", path).json() == []
    page = developer.get(f"{PAGE}/echo?in={DRAFT}&call={newest['number']}")
    assert "Milk" in page.text
    assert viewer.get(f"{PAGE}/echo?in={DRAFT}&call={newest['number']}").status_code == 404
    assert developer.call("playground/forget", endpoint="echo").json()["deleted"] >= 1
    assert developer.request("GET", path).json() == []


def test_only_the_last_fifty_calls_are_kept(house: House, developer: PlaygroundBrowser) -> None:
    developer.get(f"{PAGE}/quiet")  # now the server knows that there is no trace to wait for
    for _ in range(52):
        developer.send("quiet")
    path = "/api/projects/shop/playground/calls?endpoint=quiet"
    numbers = [call["number"] for call in developer.request("GET", path).json()]
    assert len(numbers) == 50
    assert numbers == sorted(numbers, reverse=True)


# ---- pages
def test_page_shows_exactly_the_buttons_of_a_role(
    maintainer: PlaygroundBrowser, developer: PlaygroundBrowser, viewer: PlaygroundBrowser
) -> None:
    live = f"{PAGE}/add"
    assert "Send to live" in maintainer.get(live).text
    assert "take the role maintainer" in developer.get(live).text
    assert "Send to live" not in developer.get(live).text
    assert "Send to live" in developer.get(f"{PAGE}/hello").text
    assert "take the role developer" in viewer.get(f"{PAGE}/hello").text
    in_draft = f"{PAGE}/hello?in={DRAFT}"
    assert f"Send to {DRAFT}" in viewer.get(in_draft).text
    assert "Compare with live" not in viewer.get(in_draft).text
    assert "Compare with live" in developer.get(in_draft).text
    assert "a user of this draft" in developer.get(in_draft).text
    assert "a user of this draft" not in viewer.get(in_draft).text


def test_form_is_refused_by_address_as_well(
    developer: PlaygroundBrowser, viewer: PlaygroundBrowser
) -> None:
    assert viewer.submit(f"{PAGE}/hello").status_code == 403
    refused = developer.submit(f"{PAGE}/add", body__title="Milk", confirm="yes")
    assert refused.status_code == 403
    no_token = developer.request("POST", f"{PAGE}/hello", files={"do": (None, "send")})
    assert no_token.status_code == 403


def test_page_asks_before_it_changes_live_data(maintainer: PlaygroundBrowser) -> None:
    asked = maintainer.submit(f"{PAGE}/add", body__title="Tea")
    assert "Nothing has been sent yet" in asked.text
    assert 'value="Tea"' in asked.text
    sent = maintainer.submit(f"{PAGE}/add", body__title="Tea", confirm="yes")
    assert "201 Created" in sent.text
    assert "Copy as" in sent.text


def test_error_keeps_the_form_filled(developer: PlaygroundBrowser) -> None:
    page = developer.submit(f"{PAGE}/echo?in={DRAFT}", body__text="Tea", headers="no colon")
    assert page.status_code == 400
    assert "has no &#39;:&#39;" in page.text
    page = developer.submit(f"{PAGE}/secret", path__token="")
    assert "Path parameter &#39;token&#39; is empty" in page.text


def test_secret_field_is_not_shown_again(developer: PlaygroundBrowser) -> None:
    page = developer.submit(
        f"{PAGE}/echo?in={DRAFT}", body__text="a", body__password="hidden-1", credential="hidden-2"
    )
    assert page.status_code == 200
    assert "hidden-" not in page.text


def test_json_is_sent_as_typed(developer: PlaygroundBrowser) -> None:
    page = developer.submit(f"{PAGE}/echo?in={DRAFT}", mode="json", json='{"text": ')
    assert "400 Bad Request" in page.text
    assert "{&#34;text&#34;: " in page.text


def test_typed_values_stay_when_the_form_becomes_json_and_back(
    developer: PlaygroundBrowser,
) -> None:
    url = f"{PAGE}/echo?in={DRAFT}"
    page = developer.submit(
        url, do="switch", body__text="7", body__password="pass-1", headers="x-trace: 1"
    )
    assert "Show as form" in page.text
    assert "{\n  &#34;text&#34;: &#34;7&#34;\n}" in page.text
    assert "x-trace: 1" in page.text
    assert "pass-1" not in page.text
    assert "Passwords and files are not shown again" in page.text
    page = developer.submit(url, do="switch", mode="json", json='{"text": "8"}')
    assert "Show as JSON" in page.text
    assert re.search(r'name="body:text"[^>]* value="8"', page.text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "is not valid JSON"),
        ("[" * 100_000, "is not valid JSON"),
        ("[1]", "is not an object"),
        ('{"a": 1}', "no field &#39;a"),
    ],
)
def test_json_without_fields_stays_json(
    developer: PlaygroundBrowser, text: str, reason: str
) -> None:
    page = developer.submit(f"{PAGE}/echo?in={DRAFT}", do="switch", mode="json", json=text)
    assert page.status_code == 400
    assert reason in page.text
    assert "Show as form" in page.text


def test_request_is_saved_as_a_test(house: House, developer: PlaygroundBrowser) -> None:
    result = developer.send("echo", draft=DRAFT, body={"text": "Milk"}).json()
    saved = developer.call(
        "playground/test", draft="tests", name="echoes",
        request={"endpoint": "echo", "body": {"text": "Milk"}},
        expected={"status": result["status"], "body": result["body"]},
    ).json()  # fmt: skip
    assert (saved["file"], saved["problems"], saved["reason"]) == ("tests/echo.yaml", [], "")
    assert "+  - name: echoes" in saved["diff"]
    done = developer.call(
        "playground/test/commit", endpoint="echo", draft="tests", plan=saved["plan"]
    ).json()
    assert done["files"] == ["tests/echo.yaml"]
    (entry,) = [each for each in house.book.audit.list() if each.action == "commit to draft"][:1]
    assert entry.who == "developer@example.com"
    page = developer.submit(
        f"{PAGE}/hello", do="test", status="200", response='{"text":"hello"}', draft="tests"
    )
    assert "Commit to tests" in read_text(page)


@pytest.mark.parametrize(("user", "is_saved"), [("7", True), ("ada@example.com", False)])
def test_preview_of_a_test_names_a_missing_user(
    developer: PlaygroundBrowser, user: str, *, is_saved: bool
) -> None:
    page = developer.submit(
        f"{PAGE}/me?in={DRAFT}", do="test", status="200", response="{}", user=user, **{"as": "user"}
    )
    assert ("auth:" in read_text(page)) is is_saved
    assert ("The case has no signed-in user" in read_text(page)) is not is_saved


@pytest.mark.parametrize("caller", [
    {"user": {"email": "ada@example.com"}}, {"user": {"id": 7}}, {"login": LOGIN},
])  # fmt: skip
def test_result_names_the_signed_in_user(developer: PlaygroundBrowser, caller: Any) -> None:
    assert developer.send("me", draft=DRAFT, **{"as": caller}).json()["user"] == "7"


def test_test_of_a_request_by_email_signs_in_the_same_user(developer: PlaygroundBrowser) -> None:
    form = {"as": "user", "user": "ada@example.com"}
    sent = developer.submit(f"{PAGE}/me?in={DRAFT}", **form).text
    assert '<input type="hidden" name="subject" value="7">' in sent
    page = developer.submit(
        f"{PAGE}/me?in={DRAFT}", do="test", status="200", response="{}", subject="7", **form
    )
    assert "userId" in read_text(page)
    assert "The case is signed in as user 7" in read_text(page)


@pytest.mark.parametrize(("user", "is_made_up"), [("7", False), ("8", True)])
def test_test_brings_the_row_of_its_user_unless_the_seed_has_it(
    developer: PlaygroundBrowser, user: str, *, is_made_up: bool
) -> None:
    form = {"as": "user", "user": user, "subject": user}
    page = read_text(
        developer.submit(f"{PAGE}/me?in={DRAFT}", do="test", status="200", response="{}", **form)
    )
    assert ("data:" in page and "email: ada@example.com" in page) is is_made_up
    assert ("The user's row in the test is made up" in page) is is_made_up


def test_anonymous_request_has_no_user(developer: PlaygroundBrowser) -> None:
    assert developer.send("hello", draft=DRAFT).json()["user"] == ""
    page = developer.submit(
        f"{PAGE}/me?in={DRAFT}", do="test", status="401", response="{}", subject="7"
    )
    assert "userId" not in read_text(page)


def test_viewer_saves_no_test(viewer: PlaygroundBrowser) -> None:
    request = {"endpoint": "echo"}
    refused = viewer.call("playground/test", draft="x", request=request, expected={"status": 200})
    assert refused.status_code == 403
    form = viewer.submit(f"{PAGE}/hello", do="test", status="200", draft="x")
    assert form.status_code == 403


def test_list_leads_to_each_endpoint(developer: PlaygroundBrowser) -> None:
    page = developer.get(f"{PAGE}?in={DRAFT}")
    assert f'href="{PAGE}/echo?in={DRAFT}"' in page.text
    assert "<script" not in without_islands(page.text)
