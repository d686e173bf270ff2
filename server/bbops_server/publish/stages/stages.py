"""The stages of a publication, in order, with one signature.

Each takes the Attempt further or raises Stalled; nothing before `swap` changes what is served.
A database is changed by `expand`, in ways that the live release does not notice, and by `swap`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from msgspec.structs import asdict

from bbops.base.errors import BbopsError, DatabaseError, MigrationRefused, SwitchTooLong
from bbops_server.accounts.features import read_features_off
from bbops_server.data_plane.pages.assets import folder_of
from bbops_server.process.messages.build.releases.build_release import BuildRelease
from bbops_server.process.messages.build.releases.end_tests import EndTests
from bbops_server.process.messages.build.releases.find_secret import FindSecret
from bbops_server.process.messages.build.releases.run_build_tests import RunBuildTests
from bbops_server.process.messages.build.tables.expand import Expand
from bbops_server.process.messages.build.tables.rehearse import Rehearse
from bbops_server.process.messages.build.tables.settle import Settle
from bbops_server.process.messages.build.tables.switch import Switch
from bbops_server.process.messages.build.tables.try_statements import TryStatements
from bbops_server.process.messages.data.link_release import Start
from bbops_server.publish.holds.approvals import read_waiting
from bbops_server.publish.holds.freezing import keep_frontend_frozen
from bbops_server.publish.holds.reviews import keep_reviews
from bbops_server.publish.holds.rewritten import keep_history
from bbops_server.publish.processes.link import Link
from bbops_server.publish.processes.plane import HOLD_SECONDS
from bbops_server.publish.sources.attempt import Attempt, PublishContext, Stage
from bbops_server.publish.sources.record import intend, read_live_commit
from bbops_server.publish.stages.failed_switch import keep_failed_switch, refuse_failed_switch
from bbops_server.publish.status.status import Stalled

BUILD_SECONDS = 120
TEST_SECONDS = 150
"""More than the build process gives the tests, so that it says what is late."""
MIGRATE_SECONDS = 600

LEAST_SECRET = 8
"""Letters of a value that is looked for in frontends: a shorter one may stand there by chance."""

SWAP_SECONDS = 1.0
"""Of the time that requests wait, what is left for the swap when names and types have changed."""


async def build(attempt: Attempt, at: PublishContext) -> None:
    """Read, load, check and compile."""
    live = await asyncio.to_thread(read_live_commit, at)
    off = await asyncio.to_thread(read_features_off, at.plane.settings)
    asked = BuildRelease(attempt.source, str(at.artifacts), at.engine, live, tuple(off))
    attempt.built = asdict(await at.build.ask(asked, timeout_seconds=BUILD_SECONDS))
    if not attempt.built["ok"]:
        raise _refused("ProjectInvalid", attempt.built["diagnostics"])


def _refused(reason: str, found: list[dict[str, Any]]) -> Stalled:
    errors = [one for one in found if one["severity"] == "error"]
    first = errors[0]
    where = f"{first['file']}:{first['line']}:{first['column']}"
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return Stalled(reason, f"{where}: {first['message']}{more}", first["hint"], found)


async def test(attempt: Attempt, at: PublishContext) -> None:
    """Run the project's tests where `tests.gate` asks for it, and not for who writes it."""
    if not attempt.built["gate"] or at.tells_callers:
        return
    state = str(at.project.state)
    asked = RunBuildTests(state, attempt.built["digest"])
    try:
        answer = await at.build.ask(asked, timeout_seconds=TEST_SECONDS)
    except asyncio.CancelledError:
        with suppress(BbopsError):
            await at.build.ask(EndTests(state), timeout_seconds=1)
        raise
    if answer.diagnostics:
        raise _refused("TestsFailed", answer.diagnostics)


async def fill_env(attempt: Attempt, at: PublishContext) -> None:
    """Find a value for every declared variable; make the ones that say `generate`."""
    declared = _signed_by_itself(attempt.built) if at.is_draft else attempt.built["env"]
    # a key of RSA takes a moment to make
    attempt.env, missing = await asyncio.to_thread(at.secrets.resolve, declared)
    if missing:
        names = ", ".join(missing)
        project = at.project.name.partition("/")[0]
        cure = f"bbops env set {missing[0]} --state {at.plane.settings.state}"
        cure += f" --project {project}" if project else ""
        cure += " --drafts" if at.is_draft else ""
        raise Stalled("EnvMissing", f"no value for {names}", cure)


async def guard_frontend(attempt: Attempt, at: PublishContext) -> None:
    """Look for the values of secrets in the files that browsers get."""
    secrets = {
        name: value for name, how in attempt.built["env"].items()
        if how["secret"] and (value := attempt.env.get(name)) and len(value) >= LEAST_SECRET
    }  # fmt: skip
    asked = FindSecret(str(at.project.state), attempt.built["frontend"], secrets)
    answer = await at.build.ask(asked, timeout_seconds=BUILD_SECONDS)
    if answer.found:
        file, name = answer.found
        raise Stalled(
            "SecretInFrontend", f"'{file}' of the frontend holds the value of '{name}'",
            "every visitor can read it: build it without the secret, and change the secret",
        )  # fmt: skip


def _signed_by_itself(built: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a draft declares, with a signing key that is made up: it has no live one."""
    declared, signs = built["env"], built.get("signs", "")
    return {
        name: {**how, "generate": True} if name == signs else how for name, how in declared.items()
    }


async def rehearse(attempt: Attempt, at: PublishContext) -> None:
    """Plan what happens to the tables, and try the release on empty ones as they will be."""
    refuse_failed_switch(attempt, at)
    asked = Rehearse(artifact=attempt.built["artifact"], **_about(attempt, at))
    try:
        attempt.plan = asdict(await at.build.ask(asked, timeout_seconds=MIGRATE_SECONDS))
        if attempt.plan["is_behind"] and not attempt.plan["is_done"]:
            await attempt.finish_narrowing()
            attempt.plan = asdict(await at.build.ask(asked, timeout_seconds=MIGRATE_SECONDS))
    except SwitchTooLong as refused:
        raise keep_failed_switch(_migration_refused(refused, at), attempt, at) from None
    except MigrationRefused as refused:
        raise _migration_refused(refused, at) from None
    except DatabaseError as error:
        raise Stalled("SmokeFailed", error.message, error.hint) from None


async def link(attempt: Attempt, at: PublishContext) -> None:
    """Link the release in every data-plane process, before anything has changed."""
    built = attempt.built
    attempt.link = Link(
        Path(built["artifact"]),
        attempt.release,
        at.project.name,
        at.database,
        at.history,
        built["durability"],
        at.tells_callers,
        attempt.env,
        folder_of(at.project.state) / built["frontend"] if built.get("frontend") else None,
        at.url,
        None if at.hosts is None else await asyncio.to_thread(at.hosts, attempt.commit),
        _find_start(attempt, at) if at.tells_callers else None,
    )
    try:
        await at.plane.link(attempt.link)
    except BbopsError as error:
        raise Stalled("LinkFailed", error.message, error.hint, is_passing=True) from None


def _find_start(attempt: Attempt, at: PublishContext) -> Start:
    """Return what the start page of a draft, or of `bbops dev`, says."""
    control, own = at.plane.settings.control_url, at.project.name
    project, _, slug = own.partition("/~drafts/")
    name = project or str(attempt.built.get("project", ""))
    page = f"{control}/projects/{quote(name)}"
    page += f"/drafts/{quote(slug)}" if slug else ""
    branch = at.project.branch if at.is_draft else ""
    return Start(name, attempt.release, branch, f"{page}/reference", control)


async def expand(attempt: Attempt, at: PublishContext) -> None:
    """Bring the tables to where both releases can live with them."""
    asked = Expand(**_about(attempt, at))
    try:
        answer = await at.build.ask(asked, timeout_seconds=MIGRATE_SECONDS)
    except MigrationRefused as refused:
        raise _migration_refused(refused, at) from None
    attempt.changes = answer.changes


def _about(attempt: Attempt, at: PublishContext) -> dict[str, str]:
    return {"digest": attempt.built["digest"], **at.asked_of}


def _migration_refused(refused: MigrationRefused, at: PublishContext) -> Stalled:
    hint = _say_where(refused.hint, at)
    if at.mode == "dev":
        hint = f"{hint}; or stop, delete '{at.project.state}' and start over"
    return Stalled("MigrationRefused", refused.message, hint)


def _say_where(hint: str, at: PublishContext) -> str:
    """Complete the command that approves: it may be run in any folder."""
    waiting = read_waiting(at.project.state)
    if waiting is None:
        return hint
    command = f"bbops db approve {waiting.hash}"
    where = f" --state {at.plane.settings.state}"
    where += f" --project {at.project.name}" if at.project.name else ""
    return hint.replace(command, command + where)


async def smoke(attempt: Attempt, at: PublishContext) -> None:
    """Link once aside, and prepare every statement against the expanded schema."""
    if attempt.plan["switches"]:
        return  # its names and types come with the swap; it was tried on tables that have them
    asked = TryStatements(artifact=attempt.built["artifact"], **at.asked_of)
    try:
        await at.build.ask(asked, timeout_seconds=BUILD_SECONDS)
    except BbopsError as error:
        raise Stalled("SmokeFailed", error.message, error.hint) from None


async def swap(attempt: Attempt, at: PublishContext) -> None:
    """Let the release answer in all processes; names and types change while requests wait."""
    assert attempt.link is not None  # noqa: S101 - the stage before made it
    try:
        if attempt.is_about_tables:
            intend(attempt, at)  # from here on, a restart goes by what the database says
        if attempt.plan["switches"]:
            await _switch(attempt.link, attempt, at)
            return
        if attempt.is_about_tables:
            asked = Settle(**_about(attempt, at))
            await at.build.ask(asked, timeout_seconds=MIGRATE_SECONDS)
        await at.plane.swap(attempt.link)
    except MigrationRefused as refused:
        raise _migration_refused(refused, at) from None
    except DatabaseError as error:  # another try would let requests wait again
        stalled = Stalled("SwitchFailed", error.message, error.hint)
        raise keep_failed_switch(stalled, attempt, at) from None
    except BbopsError as error:
        raise Stalled("LinkFailed", error.message, error.hint, is_passing=True) from None


async def _switch(link: Link, attempt: Attempt, at: PublishContext) -> None:
    async with at.plane.held(at.project.name) as until:
        asked = Switch(until=until - SWAP_SECONDS, **_about(attempt, at))
        await at.build.ask(asked, timeout_seconds=HOLD_SECONDS)
        await at.plane.swap(link)


BUILDING: tuple[tuple[str, Stage], ...] = (
    ("Comparing", keep_history), ("Building", build), ("Comparing", keep_reviews),
    ("Comparing", keep_frontend_frozen),
)  # fmt: skip
TESTING: tuple[tuple[str, Stage], ...] = (
    ("Testing", test), ("Environment", fill_env), ("Searching", guard_frontend),
    ("Rehearsing", rehearse),
)  # fmt: skip
"""A newer commit ends these at once, and cancels an attempt up to here."""

CHANGING: tuple[tuple[str, Stage], ...] = (
    ("Linking", link), ("Expanding", expand), ("Smoking", smoke), ("Swapping", swap),
)  # fmt: skip
"""From here on an attempt is finished, whatever comes."""

RESTORING: tuple[tuple[str, Stage], ...] = (
    ("Environment", fill_env), ("Linking", link), ("Swapping", swap),
)  # fmt: skip
"""What was live before a restart is served again."""
