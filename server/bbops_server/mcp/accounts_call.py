"""Ask the book of accounts for a tool, which never says where that is kept."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from bbops.interfaces.mcp.tool import ToolError
from bbops_server.accounts.errors import ControlAway

_log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")


async def ask(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return what a call gives that blocks, in a thread.

    Raises:
        Refused: accounts are not at hand.
    """
    try:
        return await asyncio.to_thread(call, *args, **kwargs)
    except ControlAway as error:
        _log.warning("%s", error.message)
        raise ToolError(
            "accounts are temporarily unavailable", hint="try again in a moment"
        ) from None
