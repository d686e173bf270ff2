"""The stages of a publication, in order: each takes a frozen value and returns the next.

Or it raises Stalled; nothing before `swap` changes what is served. A database is changed by
`expand`, in ways that the live release does not notice, and by `swap`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

from bbops.base.errors import (
    BbopsError,
    DatabaseError,
    MigrationRefused,
    SwitchTooLong,
    TriggerRefused,
)
from bbops.base.json_diagnostics import JsonDiagnostic
from bbops.runtime.values.failures import FlowError
from bbops.runtime.work.signatures import Scheme, check_secret
from bbops_server.accounts.features import read_features_off
from bbops_server.data_plane.pages.assets import folder_of
from bbops_server.process.messages.build.releases.build_release import BuildRelease, BuiltRelease
from bbops_server.process.messages.build.releases.end_tests import EndTests
from bbops_server.process.messages.build.releases.find_secret import FindSecret
from bbops_server.process.messages.build.releases.run_build_tests import RunBuildTests
from bbops_server.process.messages.build.tables.expand import Expand
from bbops_server.process.messages.build.tables.rehearse import Rehearse
from bbops_server.process.messages.build.tables.settle import Settle
from bbops_server.process.messages.build.tables.switch import Switch
from bbops_server.process.messages.build.tables.try_statements import TryStatements
from bbops_server.process.messages.data.link_release import Start
from bbops_server.process.printing.finding import NO_SANDBOX, find_trouble
from bbops_server.publish.holds.approvals import read_waiting
from bbops_server.publish.processes.link import Link
from bbops_server.publish.processes.plane import HOLD_SECONDS
from bbops_server.publish.sources.context import PublishContext
from bbops_server.publish.sources.record import intend, read_live_commit
from bbops_server.publish.sources.values import (
    Built,
    Fetched,
    Linked,
    Migrated,
    Prepared,
    Rehearsed,
)
from bbops_server.publish.stages.failed_switch import keep_failed_switch, refuse_failed_switch
from bbops_server.publish.stages.kept_files import find_files
from bbops_server.publish.status.status import Stalled

BUILD_SECONDS = 120
TEST_SECONDS = 150
"""More than the build process gives the tests, so that it says what is late."""
MIGRATE_SECONDS = 600

LEAST_SECRET = 8
"""Letters of a value that is looked for in frontends: a shorter one may stand there by chance."""

SWAP_SECONDS = 1.0
"""Of the time that requests wait, what is left for the swap when names and types have changed."""


async def build(fetched: Fetched, at: PublishContext) -> Built:
    """Read, load, check and compile; `require_valid` says whether that succeeded."""
    live = await asyncio.to_thread(read_live_commit, at)
    off = await asyncio.to_thread(read_features_off, at.plane.settings)
    settings = at.plane.settings
    stays = bool(settings.database_url) and settings.files.bucket is None and not at.is_draft
    browser = settings.browser
    trouble = find_trouble(browser.program, sandbox=browser.sandbox)
    asked = BuildRelease(
        fetched.source, str(at.artifacts), at.engine, live, tuple(off), stays,
        trouble or ("" if browser.sandbox else NO_SANDBOX),
    )  # fmt: skip
    return fetched.built(await at.build.ask(asked, timeout_seconds=BUILD_SECONDS))


def require_valid(built: Built) -> None:
    """Refuse a project with errors. Raises: Stalled: with all of its diagnostics."""
    if not built.facts.ok:
        raise _refused("ProjectInvalid", built.facts.diagnostics)


def _refused(reason: str, found: list[JsonDiagnostic]) -> Stalled:
    errors = [one for one in found if one.severity == "error"]
    first = errors[0]
    where = f"{first.file}:{first.line}:{first.column}"
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return Stalled(reason, f"{where}: {first.message}{more}", first.hint, found)


async def test(built: Built, at: PublishContext) -> None:
    """Run the project's tests where `tests.gate` asks for it, but not for its own authors."""
    if not built.facts.gate or at.tells_callers:
        return
    state = str(at.project.state)
    asked = RunBuildTests(state, built.facts.digest)
    try:
        answer = await at.build.ask(asked, timeout_seconds=TEST_SECONDS)
    except asyncio.CancelledError:
        with suppress(BbopsError):
            await at.build.ask(EndTests(state), timeout_seconds=1)
        raise
    if answer.diagnostics:
        raise _refused("TestsFailed", answer.diagnostics)


async def fill_env(built: Built, at: PublishContext) -> Prepared:
    """Find a value for every declared variable; make the ones that say `generate`."""
    declared = _signed_by_itself(built.facts) if at.is_draft else built.facts.env
    # a key of RSA takes a moment to make
    env, missing = await asyncio.to_thread(at.secrets.resolve, declared)
    if missing:
        names = ", ".join(missing)
        raise Stalled("EnvMissing", f"no value for {names}", _env_command(missing[0], at))
    _require_usable(built.facts, env, at)
    return built.prepared(env)


def _require_usable(facts: BuiltRelease, env: Mapping[str, str | None], at: PublishContext) -> None:
    """Refuse a secret of a webhook with which every delivery would fail. Raises: Stalled."""
    for variable, scheme, place in facts.signing_secrets:
        if secret := env.get(variable):
            try:
                check_secret(cast("Scheme", scheme), secret)
            except FlowError as error:
                message = f"{place}: {variable}: {error.message}"
                raise Stalled("SecretUnusable", message, _env_command(variable, at)) from None


def _env_command(variable: str, at: PublishContext) -> str:
    """Return the command that sets a value for this project, or for its drafts."""
    project = at.project.name.partition("/")[0]
    command = f"bbops env set {variable} --state {at.plane.settings.state}"
    command += f" --project {project}" if project else ""
    return command + (" --drafts" if at.is_draft else "")


async def guard_frontend(prepared: Prepared, at: PublishContext) -> None:
    """Look for the values of secrets in the files that browsers get."""
    secrets = {
        name: value for name, how in prepared.facts.env.items()
        if how["secret"] and (value := prepared.env.get(name)) and len(value) >= LEAST_SECRET
    }  # fmt: skip
    asked = FindSecret(str(at.project.state), prepared.facts.frontend, secrets)
    answer = await at.build.ask(asked, timeout_seconds=BUILD_SECONDS)
    if answer.found:
        file, name = answer.found
        raise Stalled(
            "SecretInFrontend", f"'{file}' of the frontend holds the value of '{name}'",
            "every visitor can read it: build it without the secret, and change the secret",
        )  # fmt: skip


def _signed_by_itself(facts: BuiltRelease) -> dict[str, Any]:
    """Return what a draft declares, with a signing key that is made up: it has no live one."""
    return {
        name: {**how, "generate": True} if name == facts.signs else how
        for name, how in facts.env.items()
    }


async def rehearse(
    prepared: Prepared, at: PublishContext, finish_narrowing: Callable[[], Awaitable[None]]
) -> Rehearsed:
    """Plan what happens to the tables, and try the release on empty ones as they will be.

    Args:
        prepared: the release.
        at: its project.
        finish_narrowing: brings what the publication before has left to do to an end.
    """
    refuse_failed_switch(prepared, at)
    asked = Rehearse(
        artifact=prepared.facts.artifact, **_about(prepared, at)
    )  # fmt: skip
    try:
        plan = await at.build.ask(asked, timeout_seconds=MIGRATE_SECONDS)
        if plan.is_behind and not plan.is_done:
            await finish_narrowing()
            plan = await at.build.ask(asked, timeout_seconds=MIGRATE_SECONDS)
    except SwitchTooLong as refused:
        raise keep_failed_switch(_migration_refused(refused, at), prepared, at) from None
    except MigrationRefused as refused:
        raise _migration_refused(refused, at) from None
    except TriggerRefused as refused:
        raise _trigger_refused(refused) from None
    except DatabaseError as error:
        raise Stalled("SmokeFailed", error.message, error.hint) from None
    return prepared.rehearsed(plan)


async def link(rehearsed: Rehearsed, at: PublishContext) -> Linked:
    """Link the release in every data-plane process, before anything has changed."""
    facts = rehearsed.facts
    made = Link(
        Path(facts.artifact),
        rehearsed.release,
        at.project.name,
        at.database,
        at.history,
        facts.durability,
        at.tells_callers,
        rehearsed.env,
        folder_of(at.project.state) / facts.frontend if facts.frontend else None,
        at.url,
        None if at.hosts is None else await asyncio.to_thread(at.hosts, rehearsed.commit),
        _find_start(rehearsed, at) if at.tells_callers else None,
        find_files(facts.project, at),
        at.plane.settings.printer,
    )
    try:
        await at.plane.link(made)
    except BbopsError as error:
        raise Stalled("LinkFailed", error.message, error.hint, is_passing=True) from None
    return rehearsed.linked(made)


def _find_start(built: Built, at: PublishContext) -> Start:
    """Return what the start page of a draft, or of `bbops dev`, says."""
    control, own = at.plane.settings.control_url, at.project.name
    project, _, slug = own.partition("/~drafts/")
    name = project or built.facts.project
    page = f"{control}/projects/{quote(name)}"
    page += f"/drafts/{quote(slug)}" if slug else ""
    branch = at.project.branch if at.is_draft else ""
    return Start(name, built.release, branch, f"{page}/reference", control)


async def expand(linked: Linked, at: PublishContext) -> Migrated:
    """Bring the tables to where both releases can live with them."""
    asked = Expand(**_about(linked, at))
    try:
        answer = await at.build.ask(asked, timeout_seconds=MIGRATE_SECONDS)
    except MigrationRefused as refused:
        raise _migration_refused(refused, at) from None
    except TriggerRefused as refused:
        raise _trigger_refused(refused) from None
    return linked.migrated(answer.changes)


def _about(built: Built, at: PublishContext) -> dict[str, str]:
    return {"digest": built.facts.digest, **at.asked_of}


def _trigger_refused(refused: TriggerRefused) -> Stalled:
    """Return why it stalls; it is tried again, since a permission is granted elsewhere."""
    return Stalled("TriggerRefused", refused.message, refused.hint, is_passing=True)


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


async def smoke(migrated: Migrated, at: PublishContext) -> None:
    """Link once aside, and prepare every statement against the expanded schema."""
    if migrated.plan.switches:
        return  # its names and types come with the swap; it was tried on tables that have them
    asked = TryStatements(artifact=migrated.facts.artifact, **at.asked_of)
    try:
        await at.build.ask(asked, timeout_seconds=BUILD_SECONDS)
    except BbopsError as error:
        raise Stalled("SmokeFailed", error.message, error.hint) from None


async def swap(linked: Linked, at: PublishContext) -> None:
    """Let the release answer in all processes; names and types change while requests wait."""
    try:
        if linked.is_about_tables:
            intend(linked, at)  # from here on, a restart goes by what the database says
        if linked.plan.switches:
            await _switch(linked, at)
            return
        if linked.is_about_tables:
            asked = Settle(**_about(linked, at))
            await at.build.ask(asked, timeout_seconds=MIGRATE_SECONDS)
        await at.plane.swap(linked.link)
    except MigrationRefused as refused:
        raise _migration_refused(refused, at) from None
    except DatabaseError as error:  # another try would let requests wait again
        stalled = Stalled("SwitchFailed", error.message, error.hint)
        raise keep_failed_switch(stalled, linked, at) from None
    except BbopsError as error:
        raise Stalled("LinkFailed", error.message, error.hint, is_passing=True) from None


async def _switch(linked: Linked, at: PublishContext) -> None:
    async with at.plane.held(at.project.name) as until:
        asked = Switch(until=until - SWAP_SECONDS, **_about(linked, at))
        await at.build.ask(asked, timeout_seconds=HOLD_SECONDS)
        await at.plane.swap(linked.link)
