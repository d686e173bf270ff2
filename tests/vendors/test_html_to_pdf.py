"""htmlToPdf with a real Chromium: paper, templates, ways out of a page, and what goes wrong."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from bbops.base.host import HttpRequest, HttpResponse
from bbops.runtime.values.failures import HttpFailure, Thrown, Unavailable
from bbops.runtime.vendors._work import AddonFailure
from bbops.runtime.vendors.html_to_pdf import SIZES, read_margins, read_url
from bbops_server.process.host.egress import EgressPolicy
from bbops_server.process.host.http import OutsideHttp
from bbops_server.process.printing.chromium import (
    NEEDS_SANDBOX,
    BrowserGone,
    find_problem,
    find_program,
    list_descendants,
)
from bbops_server.process.printing.page import print_page
from bbops_server.process.printing.pool import BrowserPool
from bbops_server.process.printing.wire import PrintRequest, ResourceRequest
from bbops_server.process.printing.wire import ResourceResponse as WireAnswer
from tests.conftest import run
from tests.support.patience import eventually, wait_for
from tests.vendors.faults import FAULTS
from tests.vendors.printing import SANDBOX, Printing, printing, read
from tests.vendors.stand_in import StandIn

browser = pytest.mark.browser
MILLIMETRE = 72 / 25.4
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360f8"
    "cf500f0003010180a1a3c8d20000000049454e44ae426082"
)


class Outside:
    """Other servers: what they answer by address, and what they were asked."""

    def __init__(self, answers: Mapping[str, HttpResponse] | None = None) -> None:
        self.answers, self.asked = answers or {}, list[HttpRequest]()

    async def send(self, request: HttpRequest) -> HttpResponse:
        self.asked.append(request)
        if request.url not in self.answers:
            raise HttpFailure("httpRefused", f"address not allowed: {request.url[:60]}")
        return self.answers[request.url]


def page_of(html: str, **headers: str) -> HttpResponse:
    return HttpResponse(200, {"content-type": "text/html", **headers}, html.encode())


@pytest.fixture(scope="module")
def printer() -> Iterator[Printing]:
    with printing() as found:
        yield found


def make(printer: Printing, html: str, outside: Outside | None = None, **given: Any) -> bytes:
    found: bytes = run(printer.step("generatePdf", {"html": html, **given}, outside or Outside()))
    return found


def visit(printer: Printing, url: str, outside: Any, **given: Any) -> bytes:
    found: bytes = run(printer.step("generatePdfFromUrl", {"url": url, **given}, outside))
    return found


# ---- what is written
@pytest.mark.parametrize(
    ("margin", "expected"),
    [({}, (10, 10, 10, 10)), ({"top": "2cm", "left": "1in"}, (20, 10, 10, 25.4)),
     ({"right": "72pt", "bottom": "96px"}, (10, 25.4, 25.4, 10)), ({"top": "0mm"}, (0, 10, 10, 10)),
     ({"top": 0}, (0, 10, 10, 10))],
)  # fmt: skip
def test_margins_are_read_as_millimetres(margin: Any, expected: Any) -> None:
    assert read_margins(margin) == pytest.approx(expected)


@pytest.mark.parametrize(
    "margin", [{"top": "20"}, {"top": 20}, {"top": "-1mm"}, {"middle": "1mm"}, {"top": "1e3mm"},
               {"top": "1 km"}, {"top": True}, {"top": False}, "10mm", ["10mm"],
               {"top": "9" * 9 + "mm"}],
)  # fmt: skip
def test_what_is_no_length_is_refused(margin: Any) -> None:
    with pytest.raises(ValueError, match="margin"):
        read_margins(margin)


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "chrome://version", "view-source:https://example.com/", "x", "",
            "data:text/html,hi", "about:blank", "javascript:1", "https://", "http://u:p@example.com",
            "ftp://example.com/", "HTTPS//example.com", "//example.com", 5],
)  # fmt: skip
def test_only_addresses_of_http_are_visited(url: Any) -> None:
    with pytest.raises(ValueError, match="'url' is an address of http or https"):
        read_url(url)


def test_margins_leave_room_on_the_paper() -> None:
    with printing("no-such-browser") as nobody, pytest.raises(Thrown, match="no room"):
        make(nobody, "x", format="A5", margin={"left": "8cm", "right": "8cm"})


# ---- without a browser
def test_a_server_without_chromium_says_what_it_needs() -> None:
    with printing("no-such-browser") as nobody, pytest.raises(AddonFailure) as failed:
        make(nobody, "x")
    assert failed.value.code == "addon-needs"
    assert "apt-get install chromium" in failed.value.message


def test_root_has_no_sandbox_and_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert find_problem("sh", sandbox=True) == NEEDS_SANDBOX
    assert find_problem("sh", sandbox=False) == ""
    monkeypatch.setattr(os, "geteuid", lambda: 1_000)
    assert find_problem("sh", sandbox=True) == ""
    assert find_program("no-such-browser") == ""


def test_a_browser_that_is_none_does_not_start() -> None:
    with printing("/bin/false", sandbox=False) as nobody, pytest.raises(AddonFailure) as failed:
        make(nobody, "x")
    assert (failed.value.code, failed.value.message) == ("pdfFailed", "Chromium does not start")


# ---- paper
@browser
@pytest.mark.parametrize("format_", SIZES)
@pytest.mark.parametrize("landscape", [False, True])
def test_paper_has_its_size(printer: Printing, format_: str, landscape: bool) -> None:
    (sheet,) = read(make(printer, "<p>Hello</p>", format=format_, landscape=landscape))
    width, height = (one * MILLIMETRE for one in SIZES[format_])
    size = (height, width) if landscape else (width, height)
    assert (sheet.width, sheet.height) == pytest.approx(size, abs=0.76)  # a pixel
    assert sheet.text == "Hello"


@browser
def test_margins_are_where_they_are_said(printer: Printing) -> None:
    html = "<style>*{margin:0;padding:0}div{height:400mm;text-align:right}</style>"
    html += "<p>START</p><div>END</div>"
    margin = {"top": "30mm", "left": "25mm", "right": "15mm", "bottom": "5cm"}
    first, second, *_ = read(make(printer, html, margin=margin))
    start, end = first.word("START"), first.word("END")
    assert start["x0"] == pytest.approx(25 * MILLIMETRE, abs=2)
    assert end["x1"] == pytest.approx(first.width - 15 * MILLIMETRE, abs=2)
    assert 30 * MILLIMETRE - 2 <= start["top"] <= 30 * MILLIMETRE + 8
    assert second.text == ""
    (plain,) = read(make(printer, "<style>*{margin:0}</style><p>START</p>"))
    assert plain.word("START")["x0"] == pytest.approx(10 * MILLIMETRE, abs=2)


@browser
def test_templates_stand_on_each_page_with_their_numbers(printer: Printing) -> None:
    html = "<title>Invoice 7</title>" + "<p style='break-after:page'>page</p>" * 3
    pages = read(make(
        printer, html, margin={"top": "25mm", "bottom": "25mm"},
        headerTemplate="<span class=title></span> HEAD",
        footerTemplate="<span class=pageNumber></span>of<span class=totalPages></span>",
    ))  # fmt: skip
    assert len(pages) in {3, 4}
    for number, sheet in enumerate(pages, 1):
        assert "Invoice 7 HEAD" in sheet.text
        assert f"{number}of{len(pages)}" in sheet.text
        head, foot = sheet.word("HEAD"), sheet.word(f"{number}of{len(pages)}")
        assert head["bottom"] < 25 * MILLIMETRE
        assert foot["top"] > sheet.height - 25 * MILLIMETRE


@browser
def test_letters_of_other_scripts_and_colours_are_printed(printer: Printing) -> None:
    (sheet,) = read(make(printer, "<p style='background:red'>häé ß €</p>"))
    assert "häé ß €" in sheet.text


@browser
def test_many_rows_are_many_pages(printer: Printing) -> None:
    html = "<table>" + "".join(f"<tr><td>row{at}</td></tr>" for at in range(1_500)) + "</table>"
    pages = read(make(printer, html))
    text = "\n".join(one.text for one in pages)
    assert len(pages) > 20
    assert all(f"row{at}" in text for at in (0, 750, 1_499))


# ---- what a page asks for
@browser
def test_a_page_has_what_the_door_lets_through(printer: Printing) -> None:
    outside = Outside({
        "https://cdn.example/a.png": HttpResponse(200, {"content-type": "image/png"}, PNG),
        "https://cdn.example/a.css": HttpResponse(
            200, {"content-type": "text/css"}, b"p::after{content:' STYLED'}"),
        "https://cdn.example/frame": page_of("<p>FRAMED</p>"),
    })  # fmt: skip
    html = (
        "<link rel=stylesheet href=https://cdn.example/a.css><img src=https://cdn.example/a.png>"
        "<iframe src=https://cdn.example/frame></iframe><p>Hello</p>"
    )
    (sheet,) = read(make(printer, html, outside))
    assert "Hello STYLED" in sheet.text
    assert "FRAMED" in sheet.text
    assert {one.url for one in outside.asked} == set(outside.answers)


@browser
def test_a_page_of_the_web_is_awaited_and_printed(printer: Printing) -> None:
    late = (
        "<script>setTimeout(()=>{const p=document.createElement('p');p.id='late';"
        "p.textContent='LATE';document.body.append(p)},300)</script><p>early</p>"
    )
    outside = Outside({
        "https://shop.example/old": HttpResponse(302, {"location": "/new"}, b""),
        "https://shop.example/new": page_of(late),
    })  # fmt: skip
    (sheet,) = read(visit(printer, "https://shop.example/old", outside, waitForSelector="#late"))
    assert "LATE" in sheet.text
    sent = {name for one in outside.asked for name in one.headers}
    assert sent <= {"Accept", "Accept-Language", "User-Agent"}


@browser
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_the_page_fails_the_print(printer: Printing, name: str) -> None:
    code, _, status = FAULTS[name].code.partition(" ")
    answered = int(status) if code == "httpFailed" else None
    expected = code, answered, FAULTS[name].asked[0] > 1 or answered == 429
    if name == "HTML with 200":
        expected = "printed", None, False
    elif name == "moved":  # to itself, for ever: Chromium gives up
        expected = "pdfFailed", None, False
    elif name in {"silent", "moved away"}:  # the door gives up before the print does
        expected = "httpUnreachable", None, True
    with StandIn(FAULTS[name].answer) as there:
        http = OutsideHttp(EgressPolicy(["127.0.0.1"]))

        async def visit_() -> tuple[str, int | None, bool]:
            try:
                await printer.step("generatePdfFromUrl", {"url": f"{there.url}/x"}, http)
            except HttpFailure as failure:
                return failure.code, failure.answered, failure.may_pass
            except AddonFailure as failure:
                return failure.code, None, False
            finally:
                await http.close()
            return "printed", None, False

        assert run(visit_()) == expected
        assert len([one for one in there.asked if one.path == "/x"]) == 1


@browser
def test_an_address_that_may_not_be_asked_is_told(printer: Printing) -> None:
    with pytest.raises(HttpFailure, match="address not allowed"):
        visit(printer, "http://169.254.169.254/latest", Outside())


@browser
def test_a_redirect_into_the_machine_is_not_followed(printer: Printing) -> None:
    moved = HttpResponse(302, {"location": "http://127.0.0.1:9/secret"}, b"")
    outside = Outside({"https://a.example/": moved})
    with pytest.raises(HttpFailure, match="address not allowed"):
        visit(printer, "https://a.example/", outside)


class Ear:
    """Listens on loopback by TCP and UDP; counts who comes."""

    def __init__(self) -> None:
        self.tcp = socket.create_server(("127.0.0.1", 0))
        self.port = self.tcp.getsockname()[1]
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", self.port))
        self.heard: list[str] = []
        for one in (self._accept, self._receive):
            threading.Thread(target=one, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                found, _ = self.tcp.accept()
                self.heard.append("tcp")
                found.close()

    def _receive(self) -> None:
        with suppress(OSError):
            while True:
                self.udp.recvfrom(2_000)
                self.heard.append("udp")

    def close(self) -> None:
        for one in (self.tcp, self.udp):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()


WAYS_OUT = """<img src={A}/img><link rel=stylesheet href={A}/css><iframe src={A}/frame></iframe>
<iframe src="file:///etc/passwd"></iframe><object data={A}/obj></object><script src={A}/js></script>
<embed src={A}/embed><video src={A}/v></video><audio src={A}/a></audio><input type=image src={A}/i>
<svg><image href={A}/svg /></svg><link rel=preconnect href={A}><link rel=prefetch href={A}/p>
<link rel=preload as=fetch href={A}/pl><link rel=dns-prefetch href={A}><link rel=icon href={A}/ic>
<link rel=manifest href={A}/m><link rel=modulepreload href={A}/mp><picture><source srcset={A}/s>
</picture><track src={A}/t><body background={A}/bg><style>@import url({A}/imp);
@font-face{{font-family:a;src:url({A}/font)}}body{{font-family:a;background:url({A}/bg2);
cursor:url({A}/cur),auto}}</style><script>
const go = f => {{ try {{ const p = f(); p && p.catch && p.catch(() => 0) }} catch (e) {{}} }};
go(() => fetch("{A}/fetch")); go(() => fetch("{A}/post", {{method: "POST", body: "x"}}));
go(() => new EventSource("{A}/es")); go(() => {{ navigator.sendBeacon("{A}/beacon", "x") }});
go(() => {{ const x = new XMLHttpRequest(); x.open("GET", "{A}/xhr"); x.send() }});
go(() => new Worker(URL.createObjectURL(new Blob(
  ["fetch('{A}/w');new WebSocket('ws://127.0.0.1:{P}/ww')"]))));
go(() => new SharedWorker(URL.createObjectURL(new Blob(["fetch('{A}/sw')"]))));
for (const h of ["127.0.0.1", "localhost", "[::1]"]) go(() => new WebSocket(`ws://${{h}}:{P}/ws`));
go(() => new WebTransport("https://127.0.0.1:{P}/wt"));
go(() => {{ const pc = new RTCPeerConnection({{iceServers: [{{urls: ["stun:127.0.0.1:{P}",
  "turn:127.0.0.1:{P}?transport=tcp", "turn:127.0.0.1:{P}?transport=udp"],
  username: "a", credential: "b"}}]}});
  pc.createDataChannel("a"); pc.createOffer().then(o => pc.setLocalDescription(o)) }});
go(() => {{ window.open("{A}/popup") }});
go(() => {{ const f = document.createElement("form"); f.method = "POST"; f.target = "_blank";
  f.action = "{A}/form"; document.documentElement.append(f); f.submit() }});
go(() => navigator.serviceWorker.register("/sw.js")); go(() => import("{A}/module.js"));
go(() => {{ new Image().src = "{A}/image" }}); go(() => {{ new Audio("{A}/audio").load() }});
go(() => {{ alert(1) }});
</script><a id=q href={A}/dl download ping={A}/ping>x</a><script>go(() => {{ q.click() }})</script>
<p>END</p>"""


@browser
def test_thirty_five_ways_out_of_a_page_reach_nothing(printer: Printing) -> None:
    ear, outside = Ear(), Outside()
    try:
        html = WAYS_OUT.format(A=f"http://127.0.0.1:{ear.port}", P=ear.port)
        with suppress(AddonFailure):
            sheets = read(make(printer, html, outside))
            assert "root:" not in "".join(one.text for one in sheets)
        make(printer, "<p>the next one</p>")  # by then what was begun has arrived
        heard, asked = list(ear.heard), {one.method for one in outside.asked}
    finally:
        ear.close()
    assert heard == []
    assert len(outside.asked) > 10  # they came to the door, and only to read
    assert asked <= {"GET", "HEAD"}


def test_the_page_has_at_least_thirty_five_ways_out() -> None:
    html = WAYS_OUT.format(A="http://127.0.0.1:1", P=1)
    ways = re.findall(r"(?:http|https|ws|file|stun|turn):(?://)?[^\s\"'`)>?]+|/sw\.js", html)
    assert len(set(ways)) >= 35


@browser
def test_a_page_does_not_know_what_another_kept(printer: Printing) -> None:
    writes = "<script>localStorage.a='KEPT';document.cookie='a=KEPT'</script><p>one</p>"
    reads = "<p id=p></p><script>p.textContent='see '+localStorage.a+document.cookie</script>"
    make(printer, writes)
    (sheet,) = read(make(printer, reads))
    assert "KEPT" not in sheet.text


# ---- what goes wrong
@browser
@pytest.mark.parametrize(
    ("html", "given"),
    [("<script>for(;;);</script>", {}), ("<p>x</p>", {"waitForSelector": "#never"})],
    ids=["endless", "never"],
)  # fmt: skip
def test_what_takes_too_long_ends_and_harms_no_other(
    printer: Printing, html: str, given: dict[str, str]
) -> None:
    url = "https://a.example/"
    outside = Outside({url: page_of(html)})

    async def both() -> list[Any]:
        slow = printer.step("generatePdfFromUrl", {"url": url, **given}, outside, 3)
        other = printer.step("generatePdf", {"html": "<p>other</p>"}, Outside())
        return await asyncio.gather(slow, other, return_exceptions=True)

    slow, other = run(both())
    assert (type(slow), slow.code) == (AddonFailure, "pdfTimeout")
    assert read(other)[0].text == "other"


@browser
def test_a_selector_that_is_none_is_told(printer: Printing) -> None:
    outside = Outside({"https://a.example/": page_of("<p>x</p>")})
    with pytest.raises(AddonFailure, match="not a CSS selector"):
        visit(printer, "https://a.example/", outside, waitForSelector="[[[")


@browser
def test_too_many_prints_are_refused_and_the_others_made(printer: Printing) -> None:
    async def crowd() -> list[Any]:
        steps = (printer.step("generatePdf", {"html": "<p>x</p>"}, Outside()) for _ in range(70))
        return await asyncio.gather(*steps, return_exceptions=True)

    found = run(crowd())
    made = [one for one in found if isinstance(one, bytes)]
    refused = [one for one in found if isinstance(one, Unavailable)]
    assert len(made) + len(refused) == 70, {repr(one) for one in found if type(one) is not bytes}
    assert len(made) >= 50
    assert {one.code for one in refused} <= {"pdfBusy"}
    assert refused


def memory(pid: int) -> int:
    """Return what the processes of a browser have alone."""
    found = 0
    for process in list_descendants(pid):
        with suppress(OSError):
            _, resident, shared, *_ = map(int, Path(f"/proc/{process}/statm").read_text().split())
            found += (resident - shared) * os.sysconf("SC_PAGE_SIZE")
    return found


@browser
def test_two_hundred_prints_two_at_a_time_stay_bounded(printer: Printing) -> None:
    peak = [0]

    async def one(at: int) -> None:
        data = await printer.step("generatePdf", {"html": f"<p>print{at}</p>"}, Outside())
        assert data.startswith(b"%PDF-")

    async def all_() -> None:
        turn = asyncio.Semaphore(2)

        async def in_turn(at: int) -> None:
            async with turn:
                await one(at)
                if at % 20 == 0:
                    peak[0] = max(peak[0], memory(printer.pid))

        await asyncio.gather(*(in_turn(at) for at in range(200)))

    run(all_())
    assert 0 < peak[0] < 1_500_000_000


async def kill_the_browser(printer: Printing) -> Any:
    """Kill the browser while it makes a print that does not end, and return the failure."""
    outside = Outside({"https://a.example/": page_of("<p>x</p>")})
    given = {"url": "https://a.example/", "waitForSelector": "#never"}
    waiting = asyncio.create_task(printer.step("generatePdfFromUrl", given, outside, 120))
    await eventually(lambda: outside.asked)
    for pid in list_descendants(printer.pid)[1:]:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    (failed,) = await asyncio.gather(waiting, return_exceptions=True)
    return failed


@browser
def test_a_killed_browser_costs_one_of_a_hundred_prints(printer: Printing) -> None:
    """Prints run two at a time, and the fiftieth alone, while the browser is killed."""

    async def all_() -> list[Any]:
        turn = asyncio.Semaphore(2)

        async def in_turn(at: int) -> bytes:
            async with turn:
                html = f"<p>print{at}</p>"
                return await printer.step("generatePdf", {"html": html}, Outside())

        found: list[Any] = await asyncio.gather(*map(in_turn, range(50)), return_exceptions=True)
        found.append(await kill_the_browser(printer))
        found += await asyncio.gather(*map(in_turn, range(51, 100)), return_exceptions=True)
        return found

    found = run(all_())
    failed = [at for at, result in enumerate(found) if not isinstance(result, bytes)]
    assert (len(found), failed) == (100, [50]), {repr(found[at]) for at in failed}
    assert read(found[99])[0].text == "print99"


@browser
def test_a_killed_browser_fails_its_print_at_once(printer: Printing) -> None:
    """A print must not wait for its timeout, whichever command it waits for."""
    for _ in range(4):
        failed = run(kill_the_browser(printer))
        assert (type(failed), failed.code) == (AddonFailure, "pdfFailed")
    assert read(make(printer, "<p>again</p>"))[0].text == "again"


@browser
def test_a_page_that_takes_all_memory_is_ended(tmp_path: Path) -> None:
    html = (
        "<script>const all=[];setInterval(()=>{const a=new Uint8Array(2e7);a.fill(7);"
        "all.push(a)},9)</script><p>x</p>"
    )
    page = PrintRequest(html, "", 210, 297, False, (10, 10, 10, 10), "", "", "#never", 60)  # noqa: FBT003

    async def nothing(ask: ResourceRequest) -> WireAnswer:
        return WireAnswer(ask.number)

    async def print_it() -> None:
        pool = BrowserPool(str(tmp_path), "", sandbox=SANDBOX, max_running_bytes=700_000_000)
        try:
            async with pool.borrow() as chromium:
                async for _ in print_page(chromium, page, nothing):
                    pass
        finally:
            await pool.stop()

    with pytest.raises(BrowserGone):
        run(print_it())
    assert list(tmp_path.iterdir()) == []


@browser
def test_a_process_that_is_killed_leaves_no_browser(printer: Printing) -> None:
    make(printer, "<p>one</p>")
    every = list_descendants(printer.pid)
    os.kill(every[0], signal.SIGKILL)
    wait_for(lambda: not any(_lives(pid) for pid in every))
    assert read(make(printer, "<p>two</p>"))[0].text == "two"


@browser
def test_the_process_ends_when_idle_and_comes_back() -> None:
    with printing(idle=0.5) as resting:
        assert read(make(resting, "<p>one</p>"))[0].text == "one"
        first = resting.pid
        wait_for(lambda: resting.pid == 0)
        wait_for(lambda: not Path(f"/proc/{first}").exists())
        assert read(make(resting, "<p>two</p>"))[0].text == "two"
        assert resting.pid not in {0, first}


@browser
def test_a_server_that_ends_takes_its_browser_along() -> None:
    with printing() as ending:
        make(ending, "<p>one</p>")
        every = list_descendants(ending.pid)
        assert len(every) > 2
    wait_for(lambda: not any(_lives(pid) for pid in every))


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
