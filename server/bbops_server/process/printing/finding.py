"""Find the browser of the system, and check that it can print."""

from __future__ import annotations

import os
import shutil
import sys
from typing import Final

NAMES: Final = (
    "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)  # fmt: skip
NEEDS: Final = (
    "htmlToPdf needs Chromium on the server: apt-get install chromium (Debian), dnf install"
    " chromium (Fedora), or its path as 'chromium: {program: …}' in server.yaml"
)
NEEDS_SANDBOX: Final = (
    "Chromium's sandbox does not work for root: run the server as another user, or say"
    " 'chromium: {sandbox: false}' in server.yaml"
)
NO_SANDBOX: Final = "Chromium runs without its sandbox"


def find_program(program: str = "") -> str:
    """Return the path of a browser; empty if none is installed."""
    for name in (program,) if program else NAMES:
        if path := shutil.which(name):
            return path
    return ""


def find_problem(program: str, *, sandbox: bool) -> str:
    """Return the reason why printing is not possible; empty if it is possible."""
    if not find_program(program):
        return NEEDS
    if sandbox and sys.platform != "win32" and os.geteuid() == 0:
        return NEEDS_SANDBOX
    return ""
