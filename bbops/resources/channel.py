"""channel: what a group of endpoints shares."""

from __future__ import annotations

from typing import ClassVar, Literal

from bbops.model import Model
from bbops.resources.endpoint import RoutePath


class Channel(Model):
    """Full route = `basePath` + the endpoint's path; middleware runs in order before it."""

    folder: ClassVar[str] = "channels"

    name: str
    base_path: RoutePath
    authentication: Literal["None", "JWT", "API Key"]
    middleware: list[str] = []
