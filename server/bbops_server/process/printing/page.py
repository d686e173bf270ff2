"""A print: a page in its own browser context, whose requests the client of the print answers."""

from __future__ import annotations

import asyncio
from base64 import b64decode, b64encode
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, Self

import msgspec

from bbops.runtime.values.failures import Failure
from bbops_server.process.printing.chromium import BrowserError, BrowserGone, ChromiumProcess
from bbops_server.process.printing.wire import PrintRequest, ResourceRequest, ResourceResponse

DOCUMENT: Final = "https://document.invalid/"
"""The URL of a page without a URL."""
MAX_PAGE_BYTES: Final = 50_000_000
"""The size of all resources of a page."""
MAX_FILE_BYTES: Final = 50_000_000
MAX_REQUESTS: Final = 1_000
_MILLIMETRES: Final = 25.4
_POLL_SECONDS: Final = 0.05
_END_SECONDS: Final = 10.0
_PIECE_BYTES: Final = 1 << 20
_DROPPED_HEADERS: Final = frozenset({
    "content-encoding", "content-length", "transfer-encoding", "set-cookie", "connection",
})  # fmt: skip
_READS: Final = frozenset({"GET", "HEAD"})
_FONTS: Final = "document.fonts.ready.then(() => true)"
_TEMPLATE: Final = '<div style="font-size:9px;width:100%;padding:0 10mm">'

Supply = Callable[[ResourceRequest], Awaitable[ResourceResponse]]


class PrintFailure(Failure):
    """A print has failed. `code` is the error code of the step."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


async def print_page(
    browser: ChromiumProcess, page: PrintRequest, supply: Supply
) -> AsyncGenerator[bytes, None]:  # fmt: skip
    """Yield the bytes of a PDF file. The caller sets the timeout.

    Raises:
        PrintFailure: the page cannot be printed.
        BrowserGone: the browser has ended.
    """
    async with (
        _open_page(browser) as session,
        _PageRequests(browser, session, page, supply) as requests,
    ):
        await _load(browser, session, page, requests)
        result = await browser.send("Page.printToPDF", session, **_options(page))
        size = 0
        while True:  # a stream, as a large file does not fit into one message
            part = await browser.send(
                "IO.read", session, handle=result["stream"], size=_PIECE_BYTES
            )  # fmt: skip
            data = b64decode(part["data"]) if part.get("base64Encoded") else part["data"].encode()
            size += len(data)
            if size > MAX_FILE_BYTES:
                raise PrintFailure("pdfTooLarge", f"the PDF has more than {MAX_FILE_BYTES:,} bytes")
            yield data
            if part["eof"]:
                return


@asynccontextmanager
async def _open_page(browser: ChromiumProcess) -> AsyncIterator[str]:
    """Yield the session of a new page, whose browser context is deleted afterwards."""
    context = (await browser.send("Target.createBrowserContext"))["browserContextId"]
    try:
        target = await browser.send(
            "Target.createTarget", url="about:blank", browserContextId=context
        )
        attached = await browser.send(
            "Target.attachToTarget", targetId=target["targetId"], flatten=True
        )
        yield attached["sessionId"]
    finally:
        try:
            async with asyncio.timeout(_END_SECONDS):
                await browser.send("Target.disposeBrowserContext", browserContextId=context)
        except (BrowserGone, BrowserError):
            pass
        except TimeoutError:
            browser.kill()


async def _load(
    browser: ChromiumProcess, session: str, page: PrintRequest, requests: _PageRequests
) -> None:
    await browser.send("Fetch.enable", session, patterns=[{"urlPattern": "*"}])
    await browser.send("Network.enable", session)
    await browser.send("Network.setBypassServiceWorker", session, bypass=True)
    await browser.send("Page.enable", session)
    requests.loaded.clear()  # set by the empty page
    result = await browser.send("Page.navigate", session, url=page.url or DOCUMENT)
    if result.get("errorText"):
        raise PrintFailure("pdfFailed", "the page cannot be loaded")
    await browser.wait_for(requests.loaded)
    if page.selector:
        await _wait_for_selector(browser, session, page.selector)
    with suppress(BrowserError):  # the page may navigate meanwhile
        await browser.send("Runtime.evaluate", session, expression=_FONTS, awaitPromise=True)


async def _wait_for_selector(browser: ChromiumProcess, session: str, selector: str) -> None:
    quoted = msgspec.json.encode(selector).decode()
    expression = f"!!document.querySelector({quoted})"
    while True:
        evaluation = await browser.send(
            "Runtime.evaluate", session, expression=expression, returnByValue=True
        )  # fmt: skip
        if evaluation.get("exceptionDetails"):
            raise PrintFailure("pdfFailed", "'waitForSelector' is not a CSS selector")
        if evaluation["result"].get("value"):
            return
        await asyncio.sleep(_POLL_SECONDS)


def _options(page: PrintRequest) -> dict[str, Any]:
    top, right, bottom, left = (margin / _MILLIMETRES for margin in page.margins)
    return {
        "landscape": page.landscape, "printBackground": True, "preferCSSPageSize": False,
        "paperWidth": page.width / _MILLIMETRES, "paperHeight": page.height / _MILLIMETRES,
        "marginTop": top, "marginRight": right, "marginBottom": bottom, "marginLeft": left,
        "displayHeaderFooter": bool(page.header or page.footer),
        "headerTemplate": _template(page.header), "footerTemplate": _template(page.footer),
        "transferMode": "ReturnAsStream",
    }  # fmt: skip


def _template(markup: str) -> str:
    return f"{_TEMPLATE}{markup}</div>" if markup else "<span></span>"


class _PageRequests:
    """The requests of a page, and its load event."""

    def __init__(
        self, browser: ChromiumProcess, session: str, page: PrintRequest, supply: Supply
    ) -> None:
        self.loaded = asyncio.Event()
        self._browser, self._session, self._page = browser, session, page
        self._supply, self._tasks = supply, set[asyncio.Task[None]]()
        self._loaded_bytes = self._requests = 0
        self._frame = ""

    async def __aenter__(self) -> Self:
        self._browser.listen(self._session, self._handle)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._browser.listen(self._session, None)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _handle(self, method: str, event: Any) -> None:
        if method == "Fetch.requestPaused":
            self._begin(self._answer(event))
        elif method == "Page.loadEventFired":
            self.loaded.set()
        elif method == "Page.javascriptDialogOpening":
            self._begin(self._send("Page.handleJavaScriptDialog", accept=False))

    def _begin(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _send(self, method: str, **parameters: Any) -> None:
        with suppress(BrowserGone, BrowserError):  # the page was closed
            await self._browser.send(method, self._session, **parameters)

    async def _answer(self, event: Mapping[str, Any]) -> None:
        request, key = event["request"], event["requestId"]
        response = await self._fetch(event, request)
        self._loaded_bytes += len(response.body)
        if not response.status or self._loaded_bytes > MAX_PAGE_BYTES:
            await self._send("Fetch.failRequest", requestId=key, errorReason="AccessDenied")
            return
        headers = [
            {"name": name, "value": value} for name, value in response.headers.items()
            if name not in _DROPPED_HEADERS
        ]  # fmt: skip
        await self._send(
            "Fetch.fulfillRequest", requestId=key, responseCode=response.status,
            responseHeaders=headers, body=b64encode(response.body).decode(),
        )  # fmt: skip

    async def _fetch(
        self, event: Mapping[str, Any], request: Mapping[str, Any]
    ) -> ResourceResponse:
        url, self._requests = request["url"], self._requests + 1
        if self._page.html and url.partition("#")[0] == DOCUMENT:
            kind = {"content-type": "text/html; charset=utf-8"}
            return ResourceResponse(0, 200, kind, self._page.html.encode(errors="replace"))
        is_outside = url.startswith(("https://", "http://")) and not url.startswith(DOCUMENT)
        may_ask = is_outside and request["method"] in _READS
        if not may_ask or self._requests > MAX_REQUESTS or len(url) > 10_000:
            return ResourceResponse(0)
        is_document = event.get("resourceType") == "Document" and self._is_main(event)
        headers = {str(name): str(value) for name, value in request["headers"].items()}
        return await self._supply(
            ResourceRequest(self._requests, request["method"], url, headers, is_document)
        )

    def _is_main(self, event: Mapping[str, Any]) -> bool:
        """Return whether a request is of the main frame, which sends the first request."""
        frame = str(event.get("frameId", ""))
        self._frame = self._frame or frame
        return frame == self._frame
