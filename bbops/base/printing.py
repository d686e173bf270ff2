"""The door `printer`: pages become PDF files.

The server's door is in `bbops_server.process.printing`. A test has none: mocks answer.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Page:
    """What is printed, and how. Lengths are millimetres.

    Attributes:
        html: a document; empty where there is a `url`.
        url: an address of http or https.
        width: of the paper, upright.
        height: likewise.
        landscape: the paper lies on its side.
        margins: top, right, bottom, left.
        header: markup at the top of each page; empty for none.
        footer: likewise, at the bottom.
        selector: what must be in the document before it is printed; empty for nothing.
        seconds: after which it is given up.
    """

    html: str
    url: str
    width: float
    height: float
    landscape: bool
    margins: tuple[float, float, float, float]
    header: str
    footer: str
    selector: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Asked:
    """What a page asks for; `is_document` where it is the page itself, or where that has moved."""

    method: str
    url: str
    headers: Mapping[str, str]
    is_document: bool


@dataclass(frozen=True, slots=True)
class Supplied:
    """What it is given."""

    status: int
    headers: Mapping[str, str]
    body: bytes


Ask = Callable[[Asked], Awaitable[Supplied | None]]
"""Asks the outside for a page; None where that may not be asked, or does not answer."""


class Printer(Protocol):
    """What prints."""

    def print(self, page: Page, ask: Ask) -> AsyncGenerator[bytes, None]:
        """Yield the bytes of a PDF file.

        Raises:
            Failure: `addon-needs` where there is no browser, `pdfTimeout`, 503 where too many
                wait, or it has ended.
        """
        ...
