"""Tests of addons' connections, for the parent: the live release has their settings and values.

Only what was published is asked: a commit that nobody has reviewed has no part in it. A draft's
process does the same with its own release, the values of drafts, and the hosts that it may reach.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from bbops.base.diagnostics import suggest
from bbops.base.errors import ServerError
from bbops.runtime.linking.release import Release
from bbops.runtime.vendors import link_addon
from bbops.runtime.vendors._probe import Connection, try_connection
from bbops.runtime.vendors._work import Work
from bbops_server.data_plane.live.swap import Live
from bbops_server.process.messages.api_keys import TryAddon, TryAddonAnswer
from bbops_server.process.messages.service import Handlers

SECONDS: Final = 20.0
"""How long a test may take."""
_log = logging.getLogger(__name__)


def addon_handlers(find: Callable[[TryAddon], Live]) -> Handlers:
    """Return what answers requests about addons; `find` returns what is live of their project.

    Raises ServerError: nothing is live, or it has no such addon.
    """

    async def handle(request: TryAddon) -> TryAddonAnswer:
        release = find(request).release
        if release is None:
            raise ServerError("the project has no live release", hint="'bbops status' says why")
        found = await _try(release, request.addon)
        return TryAddonAnswer(found.state, release.answering.mask.text(found.text))

    return {TryAddon: handle}


async def _try(release: Release, name: str) -> Connection:
    declared = release.addons.get(name)
    if declared is None:
        hint = suggest(name, release.addons) or "'bbops addon list' shows those there are"
        raise ServerError(f"the live release has no addon '{name[:80]}'", hint=hint)
    host = release.answering.host
    addon = link_addon(name, declared, release.env.get, host)
    if addon.probe is None:
        return Connection("failed", f"addon '{name}' has no test of its connection")
    work = Work(name, host, addon.config, None, kept=addon.kept, hidden=addon.hidden)
    try:
        async with asyncio.timeout(SECONDS):
            return await try_connection(work, addon.probe)
    except TimeoutError:
        return Connection("unreachable", f"cannot be reached: no answer in {SECONDS:g} s")
    except Exception:  # noqa: BLE001 - a mistake of ours is no outcome; the log has it
        _log.exception("the test of addon '%s' failed", name)
        return Connection("failed", "the test itself failed; the server's log says more")
