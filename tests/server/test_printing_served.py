"""htmlToPdf on a real server: a route answers with a PDF, in a draft too, and `status` warns."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.drafting import answered
from tests.support.patience import wait_for
from tests.support.served import Served, git
from tests.support.small_project import endpoint, write_project
from tests.vendors.printing import SANDBOX, read

pytestmark = pytest.mark.browser

PROJECT = {
    "addons/htmlToPdf.yaml": "enabled: true\n",
    "addons/localStorage.yaml": "enabled: true\n",
    "functions/bill.yaml": (
        "input: { name: string }\nsteps:\n"
        '  - htmlToPdf.generatePdf: { html: "<h1>${ input.name }</h1>", outputPath: bill.pdf }\n'
        "    as: made\n"
        '  - localStorage.saveFile: { path: bills/1.pdf, content: "${ vars.made }" }\n'
        '  - return: { file: "${ vars.made.path }" }\n'
    ),
    "functions/visit.yaml": (
        "input: { url: string }\nsteps:\n"
        '  - htmlToPdf.generatePdfFromUrl: { url: "${ input.url }", outputPath: page.pdf }\n'
        "  - return: { file: page.pdf }\n"
    ),
    "functions/kept.yaml": "steps:\n  - return: { file: bills/1.pdf, from: localStorage }\n",
    "functions/print.yaml": (
        "input: { name: string }\nsteps:\n"
        '  - htmlToPdf.generatePdf: { html: "<p>${ input.name }</p>", outputPath: report.pdf }\n'
        "    as: made\n"
        '  - return: { value: "${ vars.made }" }\n'
    ),
    "functions/report.yaml": (
        "input: { name: string }\nsteps:\n"
        '  - call: { function: print, input: { name: "${ input.name }" } }\n'
        "    as: made\n"
        '  - localStorage.saveFile: { path: reports/1.pdf, content: "${ vars.made }" }\n'
    ),
    "functions/order.yaml": (
        "steps:\n  - enqueue: { function: report, input: { name: Ada } }\n"
        "  - return: { status: 202, value: null }\n"
    ),
    "functions/ordered.yaml": "steps:\n  - return: { file: reports/1.pdf, from: localStorage }\n",
    "functions/called.yaml": (
        "steps:\n  - call: { function: print, input: { name: Bob } }\n"
        "  - return: { file: report.pdf }\n"
    ),
    "endpoints/order.yaml": endpoint("POST", "/order", "order"),
    "endpoints/ordered.yaml": endpoint("GET", "/ordered", "ordered"),
    "endpoints/called.yaml": endpoint("POST", "/called", "called"),
    "endpoints/bill.yaml": endpoint("POST", "/bill", "bill"),
    "endpoints/visit.yaml": endpoint("POST", "/visit", "visit"),
    "endpoints/kept.yaml": endpoint("GET", "/kept", "kept"),
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    box = tmp_path_factory.mktemp("box")
    write_project(box / "small", PROJECT)
    git(box / "small", "init", "-q", "-b", "main")
    git(box / "small", "add", "-A")
    git(box / "small", "commit", "-qm", "Start")
    sandbox = json.dumps(SANDBOX)
    text = f"chromium: {{ sandbox: {sandbox} }}\nprojects: {{ small: {{ repository: small }} }}\n"
    (box / "server.yaml").write_text(text)
    with Served(box, box / "home", "--workers", "2") as server:
        server.repository = box / "small"
        server.live()
        yield server


def bill(client: httpx.Client) -> httpx.Response:
    return client.post("bill", json={"name": "Ada <b>& Söhne"}, timeout=120)


def test_a_route_answers_with_a_file_and_keeps_it(served: Served) -> None:
    reply = bill(served.api)
    assert (reply.status_code, reply.headers["content-type"]) == (200, "application/pdf"), (
        reply.text
    )
    (sheet,) = read(reply.content)
    assert sheet.text == "Ada <b>& Söhne"  # as it was written, and not as markup
    assert served.api.get("kept").content == reply.content


def test_a_called_function_prints_into_the_request_of_its_caller(served: Served) -> None:
    reply = served.api.post("called", timeout=120)
    assert reply.status_code == 200, reply.text
    assert [sheet.text for sheet in read(reply.content)] == ["Bob"]


def test_a_job_prints_and_keeps_the_file(served: Served) -> None:
    assert served.api.post("order").status_code == 202
    wait_for(lambda: served.api.get("ordered").status_code == 200)
    assert [sheet.text for sheet in read(served.api.get("ordered").content)] == ["Ada"]


def test_a_page_may_not_ask_what_the_server_may_not(served: Served) -> None:
    control = served.serving["control_url"]
    reply = served.api.post("visit", json={"url": f"{control}/api/projects"}, timeout=120)
    assert (reply.status_code, reply.json()["error"]["code"]) == (500, "serverError")
    assert "address not allowed" in (served.home / "log").read_text()
    bad = served.api.post("visit", json={"url": "file:///etc/passwd"})
    assert (bad.status_code, bad.json()["error"]["message"]) == (
        400, "'url' is an address of http or https",
    )  # fmt: skip


def test_a_draft_prints_with_the_same_browser(served: Served) -> None:
    git(served.repository, "checkout", "-qb", "topic")
    (served.repository / "functions/hello.yaml").write_text("steps:\n  - return: { value: 1 }\n")
    git(served.repository, "commit", "-qam", "Say one")
    git(served.repository, "checkout", "-q", "main")
    wait_for(lambda: served.control.get("/api/projects/small/drafts").json())
    made = json.loads(served.bbops("drafts", "token", "topic", "--json").stdout)
    headers = {"x-draft-token": made["token"]}
    with httpx.Client(base_url=made["url"], headers=headers, timeout=240) as draft:
        reply = answered(lambda: bill(draft))
        assert read(reply.content)[0].text == "Ada <b>& Söhne"


def test_status_says_what_is_wrong_with_the_browser(served: Served) -> None:
    told = {one["type"]: one["reason"] for one in served.status()["conditions"] if one["status"]}
    assert told.get("Warning") == (None if SANDBOX else "addon-needs")


def test_a_server_without_chromium_serves_and_warns(tmp_path: Path) -> None:
    write_project(tmp_path / "small", PROJECT)
    git(tmp_path / "small", "init", "-q", "-b", "main")
    git(tmp_path / "small", "add", "-A")
    git(tmp_path / "small", "commit", "-qm", "Start")
    (tmp_path / "server.yaml").write_text(
        "chromium: { program: no-such-browser }\nprojects: { small: { repository: small } }\n"
    )
    with Served(tmp_path, tmp_path / "home") as server:
        warnings = server.live()["warnings"]
        (told,) = [one for one in warnings if one["code"] == "addon-needs"]
        assert "apt-get install chromium" in told["message"]
        assert "apt-get" in server.condition("Warning")["message"]
        assert "Warning  addon-needs" in server.bbops("status").stdout
        reply = bill(server.api)
        assert reply.status_code == 500
        assert server.api.get("hello").status_code == 200
