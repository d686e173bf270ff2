"""Texts that GitLab shows without carrying out commands in them.

A line of a comment or description that begins with `/approve` or `/merge` is a command of its
author, here of the server. Names of files and messages of checks are written by strangers.
Source: docs.gitlab.com, "GitLab quick actions".
"""

from __future__ import annotations

import re
from typing import Final

_COMMAND: Final = re.compile(r"^([ \t]*)/", re.MULTILINE)


def disarm(text: str) -> str:
    r"""Return a text in Markdown whose lines begin with no command: `/` becomes `\/`.

    All line breaks that GitLab accepts end a line.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return _COMMAND.sub(r"\1\\/", lines)
