"""htmlToPdf: what is printed, on which paper, and what a page may ask for.

The browser has no network: each of its requests comes here, and leaves through the door `http`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import aclosing
from typing import Any, Final
from urllib.parse import urlsplit

from bbops.base.doors import Asked, Page, Supplied
from bbops.base.host import HttpRequest
from bbops.runtime.values.failures import FlowError, HttpFailure, Thrown
from bbops.runtime.values.outside import Refusal, failure_of, send
from bbops.runtime.values.values import spend
from bbops.runtime.vendors._probe import AtServer
from bbops.runtime.vendors._work import AddonFailure, Work, read_file_name

SIZES: Final[Mapping[str, tuple[float, float]]] = {
    "A3": (297, 420), "A4": (210, 297), "A5": (148, 210), "Letter": (215.9, 279.4),
    "Legal": (215.9, 355.6), "Tabloid": (279.4, 431.8),
}  # fmt: skip
"""Millimetres, upright."""
SIDES: Final = ("top", "right", "bottom", "left")
_MARGIN: Final = 10.0
_MOST_HTML: Final = 20_000_000
_MOST_TEMPLATE: Final = 100_000
_MOST_BYTES: Final = 50_000_000
_LEAST_PAPER: Final = 5.0
"""Millimetres between margins."""
_UNITS: Final = {"mm": 1.0, "cm": 10.0, "in": 25.4, "pt": 25.4 / 72, "px": 25.4 / 96}
_LENGTH: Final = re.compile(r"([0-9]{1,4}(?:\.[0-9]{1,4})?)\s*(mm|cm|in|pt|px)").fullmatch
_OWN_HEADERS: Final = frozenset({"accept", "accept-language", "user-agent"})
"""What a page may say of itself; its cookies and keys are nobody's."""


async def generate_pdf(work: Work, given: Mapping[str, Any]) -> Any:
    """Print HTML."""
    html = given["html"]
    if len(html) > _MOST_HTML:
        raise Thrown(413, f"'html' has at most {_MOST_HTML:,} characters")
    return await _print(work, given, html=html or "<html></html>")


async def generate_pdf_from_url(work: Work, given: Mapping[str, Any]) -> Any:
    """Print a page of the web.

    Raises:
        Thrown: 400, the address is none.
        HttpFailure: the page cannot be asked, or does not answer with itself.
    """
    try:
        url = read_url(given["url"])
    except ValueError as error:
        raise Thrown(400, str(error)) from None
    return await _print(work, given, url=url, selector=given.get("waitForSelector", ""))


async def _print(
    work: Work, given: Mapping[str, Any], *, html: str = "", url: str = "", selector: str = ""
) -> Any:
    printer, folder = work.host.printer, work.folder
    if printer is None:
        raise AddonFailure("addon-needs", "this process prints nothing")
    if folder is None:
        raise FlowError("this run has no files")
    name = given["outputPath"]
    try:
        read_file_name(name)
        width, height = SIZES[given.get("format", "A4")]
        margins = read_margins(given.get("margin", {}))
    except KeyError:
        raise Thrown(400, f"'format' is one of {', '.join(SIZES)}") from None
    except ValueError as error:
        raise Thrown(400, str(error)) from None
    lies = given.get("landscape") is True
    _require_room((height, width) if lies else (width, height), margins)
    page = Page(
        html, url, width, height, lies, margins, _template(given, "headerTemplate"),
        _template(given, "footerTemplate"), selector, work.terms.seconds,
    )  # fmt: skip
    asking, size = _Asking(work), 0
    await folder.write(name, b"")
    try:
        async with aclosing(printer.print(page, asking.ask)) as parts:
            async for part in parts:
                size += len(part)
                spend(len(part) >> 10)
                await folder.append(name, part)
    except AddonFailure:
        if asking.failure is not None:
            raise asking.failure from None
        raise
    return {"path": name, "size": size}


class _Asking:
    """Answers what a page asks for, and keeps why the page itself was not there."""

    def __init__(self, work: Work) -> None:
        self._terms = work.terms
        self._host = work.host.unrecorded or work.host  # a job prints again in each attempt
        self.failure: HttpFailure | None = None

    async def ask(self, asked: Asked) -> Supplied | None:
        """Return an answer of another server; None where there is none."""
        headers = {
            name: value for name, value in asked.headers.items() if name.lower() in _OWN_HEADERS
        }  # fmt: skip
        request = HttpRequest(
            asked.method, asked.url, headers, b"", self._terms.seconds, "none",
            most_bytes=_MOST_BYTES,
        )  # fmt: skip
        try:
            answer = await send(self._host.http, request, repeats=True)
        except HttpFailure as failure:
            if asked.is_document:
                self.failure = failure
            return None
        if asked.is_document and answer.status >= 400:
            now = self._host.clock.now()
            self.failure = failure_of(asked.url, answer, now, Refusal(), repeats=True)
            return None
        return Supplied(answer.status, answer.headers, answer.body)


def _template(given: Mapping[str, Any], name: str) -> str:
    text: str = given.get(name, "")
    if len(text) > _MOST_TEMPLATE:
        raise Thrown(400, f"'{name}' has at most {_MOST_TEMPLATE:,} characters")
    return text


def read_url(text: Any) -> str:
    """Return the address of a page.

    Raises:
        ValueError: it is none of http or https, in words.
    """
    try:
        parts = urlsplit(text)
        if parts.scheme in {"http", "https"} and parts.hostname and not parts.username:
            return str(text)
    except (ValueError, AttributeError, TypeError):
        pass
    raise ValueError("'url' is an address of http or https")


def read_margins(margin: Any) -> tuple[float, float, float, float]:
    """Return the margins of a page in millimetres: top, right, bottom, left.

    Raises:
        ValueError: one is no length, in words.
    """
    if not isinstance(margin, Mapping) or not margin.keys() <= set(SIDES):
        raise ValueError("'margin' holds 'top', 'right', 'bottom' and 'left'")
    top, right, bottom, left = (_read_length(margin.get(side), side) for side in SIDES)
    return top, right, bottom, left


def _read_length(value: Any, side: str) -> float:
    if value is None:
        return _MARGIN
    found = _LENGTH(value.strip()) if isinstance(value, str) else None
    if value in (0, "0") and value is not False:
        return 0.0
    if found is None:
        raise ValueError(f"'margin.{side}' is a length such as 20mm, 2cm, 1in, 10pt or 96px")
    return float(found[1]) * _UNITS[found[2]]


def _require_room(paper: tuple[float, float], margins: tuple[float, float, float, float]) -> None:
    (width, height), (top, right, bottom, left) = paper, margins
    if width - left - right < _LEAST_PAPER or height - top - bottom < _LEAST_PAPER:
        raise Thrown(400, "the margins leave no room on the paper")


async def probe(work: Work) -> str:
    """Return nothing where pages are printed: by a server that has a browser."""
    if work.host.printer is None:
        raise AtServer("pages are printed by a server: there is none here")
    return ""


STEPS: Final = {
    "generatePdf": generate_pdf,
    "generatePdfFromUrl": generate_pdf_from_url,
}
PROBE: Final = probe
