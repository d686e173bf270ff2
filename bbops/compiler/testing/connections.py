"""Test the connection of an addon of a project, with values that somebody gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from bbops.base.host import Clock, Database, Host, Http
from bbops.compiler.compile.release import compile_addon
from bbops.compiler.testing.host import CountingRandom, KeptLog
from bbops.language.addons._base import kind as addon_kind
from bbops.language.project import Project
from bbops.runtime.vendors import link_addon
from bbops.runtime.vendors._probe import Connection, try_connection
from bbops.runtime.vendors._work import Work


async def try_addon(
    project: Project, name: str, value_of: Callable[[str], str | None], http: Http, clock: Clock
) -> Connection:
    """Return whether an addon works. It only reads, at the vendor.

    Args:
        value_of: the value of an env variable; None for one without.
        http: the door through which it is asked.
        clock: of whoever asks: some vendors refuse a request that is signed at another time.
    """
    told = compile_addon(project, name, project.addons[name].model)
    kind, linked = addon_kind(name), link_addon(name, told, value_of)
    for key, (variable, _) in told["config"].items():
        is_needed = kind is None or key in kind.needs_config
        if variable and is_needed and not linked.config[key]:
            return Connection("lacks", f"lacks a value of '{key}': env variable {variable}")
    if linked.probe is None:
        return Connection("failed", f"addon '{name}' has no test of its connection")
    host = Host(clock, CountingRandom(0), cast("Database", None), KeptLog(), http=http)
    return await try_connection(Work(name, host, linked.config, None), linked.probe)
