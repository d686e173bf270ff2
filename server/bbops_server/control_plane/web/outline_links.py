"""Links between the pages of a project's resources, which stay in the draft that is shown."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, urlencode

from bbops.base.names import INLINE

_PLACE: Final = re.compile(r"([^:]{1,400}\.yaml):([0-9]{1,9})(?::[0-9]+)?")


@dataclass(frozen=True, slots=True)
class OutlineLinks:
    """URLs of the pages of a project.

    Attributes:
        project: the name of the project.
        draft: the slug of a draft; empty for live.
    """

    project: str
    draft: str = ""

    @property
    def query(self) -> str:
        """The query that stays in the draft; empty for live."""
        return f"?in={quote(self.draft)}" if self.draft else ""

    def to(self, path: str, **query: str | int) -> str:
        """Return the URL of a page below the project, with query parameters that are not empty."""
        given = {key: value for key, value in query.items() if value not in {"", 0}}
        if self.draft:
            given["in"] = self.draft
        text = f"?{urlencode(given)}" if given else ""
        return f"/projects/{quote(self.project)}/{quote(path)}{text}"

    def endpoint(self, name: str, tab: str = "") -> str:
        """Return the page of an endpoint."""
        return self.to(f"endpoints/{name}", tab=tab)

    def function(self, name: str) -> str:
        """Return the page of a function; of inline steps, the page of their endpoint."""
        if name.startswith(INLINE):
            return self.endpoint(name.removeprefix(INLINE), "function")
        return self.to(f"functions/{name}")

    def table(self, name: str) -> str:
        """Return the page of a table."""
        return self.to(f"tables/{name}")

    def channel(self, name: str) -> str:
        """Return the page of a channel."""
        return self.to(f"channels/{name}")

    def variable(self, name: str) -> str:
        """Return the place of a variable on the page of values."""
        return f"{self.to('values')}#{quote(name)}"

    def addon(self, name: str) -> str:
        """Return the place of an addon on the page of addons."""
        return f"{self.to('addons')}#{quote(name)}"

    def request(self, number: int) -> str:
        """Return the page of a recorded request."""
        return self.to(f"requests/{number}")

    def playground(self, endpoint: str) -> str:
        """Return the Playground of an endpoint."""
        return self.to(f"playground/{endpoint}")

    def of(self, draft: str) -> OutlineLinks:
        """Return the links of a draft, or of live if it is empty."""
        return OutlineLinks(self.project, draft)

    def place(self, text: str) -> str:
        """Return the page of a place such as `functions/greet.yaml:4`; empty for other texts."""
        found = _PLACE.fullmatch(text)
        return self.source(found[1], int(found[2])) if found else ""

    def source(self, file: str, line: int = 0) -> str:
        """Return the page of a file, at a line."""
        return self.to(f"files/{file}") + (f"#L{line}" if line else "")
