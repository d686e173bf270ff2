"""The stages of a publication. Each takes a frozen record and returns the same or a grown one.

A stage that cannot continue raises Stalled. Responses change in `swap` only. The database changes
in `expand`, compatibly with the live release, and in `swap`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast
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
from bbops_server.data_plane.pages.frontend import folder_of
from bbops_server.process.messages.builds import (
    BuildRelease,
    BuiltRelease,
    EndTests,
    FindSecret,
    RunBuildTests,
)
from bbops_server.process.messages.projects import StartPageTexts
from bbops_server.process.messages.tables import (
    ExpandTables,
    RehearseMigration,
    SettleTables,
    SwitchTables,
    TryStatements,
)
from bbops_server.process.printing.chromium import NO_SANDBOX, find_problem
from bbops_server.publish.holds.approvals import read_waiting
from bbops_server.publish.holds.freezing import hold_frozen_frontend
from bbops_server.publish.holds.reviews import hold_unreviewed
from bbops_server.publish.holds.unchanged import hold_rewritten
from bbops_server.publish.processes.link import Link
from bbops_server.publish.processes.plane import HOLD_SECONDS
from bbops_server.publish.sources.context import PublishContext
from bbops_server.publish.sources.record import read_live_commit, record_intention
from bbops_server.publish.sources.values import (
    UNCHANGED,
    BuiltRevision,
    FetchedRevision,
    LinkedRevision,
    MigratedRevision,
    PreparedRevision,
    RehearsedRevision,
)
from bbops_server.publish.stages.failed_migration import (
    record_failed_migration,
    reject_failed_migration,
)
from bbops_server.publish.stages.file_storage import find_storage
from bbops_server.publish.status.status import Stalled

L = TypeVar("L", bound=LinkedRevision)

BUILD_SECONDS = 120
TEST_SECONDS = 150
"""More than the limit of the build process, which reports the late test."""
MIGRATE_SECONDS = 600

LEAST_SECRET = 8
"""The shortest secret to search for; a shorter text occurs by chance."""

SWAP_SECONDS = 1.0
"""The part of the hold that is left for the swap after names and types have changed."""


async def build(fetched: FetchedRevision, at: PublishContext) -> BuiltRevision:
    """Read, load, check and compile a commit. Errors are in the record, see `require_valid`."""
    live = await asyncio.to_thread(read_live_commit, at)
    off = await asyncio.to_thread(read_features_off, at.plane.settings)
    settings = at.plane.settings
    stays = bool(settings.database_url) and settings.files.bucket is None and not at.is_draft
    browser = settings.browser
    error = find_problem(browser.program, sandbox=browser.sandbox)
    request = BuildRelease(
        fetched.source, str(at.artifacts), at.engine, live, tuple(off), stays,
        error or ("" if browser.sandbox else NO_SANDBOX),
    )  # fmt: skip
    return fetched.with_facts(await at.build.ask(request, timeout_seconds=BUILD_SECONDS))


async def require_valid(built: BuiltRevision, at: PublishContext) -> BuiltRevision:
    """Reject a project with errors. Raises: Stalled: with all of its diagnostics."""
    del at
    if not built.facts.ok:
        raise _invalid("ProjectInvalid", built.facts.diagnostics)
    return built


def _invalid(reason: str, diagnostics: list[JsonDiagnostic]) -> Stalled:
    errors = [diagnostic for diagnostic in diagnostics if diagnostic.severity == "error"]
    first = errors[0]
    where = f"{first.file}:{first.line}:{first.column}"
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return Stalled(reason, f"{where}: {first.message}{more}", first.hint, diagnostics)


async def test(built: BuiltRevision, at: PublishContext) -> BuiltRevision:
    """Run the project's tests if `tests.gate` is set; never for drafts and `bbops dev`."""
    if not built.facts.gate or at.exposes_errors:
        return built
    state = str(at.project.state)
    request = RunBuildTests(state, built.facts.digest)
    try:
        answer = await at.build.ask(request, timeout_seconds=TEST_SECONDS)
    except asyncio.CancelledError:
        with suppress(BbopsError):
            await at.build.ask(EndTests(state), timeout_seconds=1)
        raise
    if answer.diagnostics:
        raise _invalid("TestsFailed", answer.diagnostics)
    return built


async def fill_env(built: BuiltRevision, at: PublishContext) -> PreparedRevision:
    """Read the value of each declared variable, and generate those with `generate`."""
    declared = _sign_with_own_key(built.facts) if at.is_draft else built.facts.env
    # an RSA key takes a moment to generate
    env, missing = await asyncio.to_thread(at.secrets.resolve, declared)
    if missing:
        names = ", ".join(missing)
        raise Stalled("EnvMissing", f"no value for {names}", _env_command(missing[0], at))
    _require_usable(built.facts, env, at)
    return built.with_env(env)


def _require_usable(facts: BuiltRelease, env: Mapping[str, str | None], at: PublishContext) -> None:
    """Reject a webhook secret that fails every delivery. Raises: Stalled."""
    for variable, scheme, place in facts.signing_secrets:
        if secret := env.get(variable):
            try:
                check_secret(cast("Scheme", scheme), secret)
            except FlowError as error:
                message = f"{place}: {variable}: {error.message}"
                raise Stalled("SecretUnusable", message, _env_command(variable, at)) from None
    for place, listed in groupby(facts.signing_secrets, itemgetter(2)):
        variables = [variable for variable, _, _ in listed]
        # a key in the file has no variable, and an optional variable may have no value: None
        values = [env.get(variable) if variable else place for variable in variables]
        if "" in values and not any(values):
            message = f"{place}: {variables[0]}: the secret of the webhook is empty"
            raise Stalled("SecretUnusable", message, _env_command(variables[0], at))


def _env_command(variable: str, at: PublishContext) -> str:
    """Return the command that sets a value for this project, or for its drafts."""
    project = at.project.name.partition("/")[0]
    command = f"bbops env set {variable} --state {at.plane.settings.state}"
    command += f" --project {project}" if project else ""
    return command + (" --drafts" if at.is_draft else "")


async def search_secrets(prepared: PreparedRevision, at: PublishContext) -> PreparedRevision:
    """Search the files of the frontend for the values of secrets. Raises: Stalled: one has it."""
    secrets = {
        name: value for name, variable in prepared.facts.env.items()
        if variable["secret"] and (value := prepared.env.get(name)) and len(value) >= LEAST_SECRET
    }  # fmt: skip
    if not secrets or not prepared.facts.frontend:
        return prepared
    request = FindSecret(str(at.project.state), prepared.facts.frontend, secrets)
    answer = await at.build.ask(request, timeout_seconds=BUILD_SECONDS)
    if answer.found:
        file, name = answer.found
        raise Stalled(
            "SecretInFrontend", f"'{file}' of the frontend holds the value of '{name}'",
            "every visitor can read it: build it without the secret, and change the secret",
        )  # fmt: skip
    return prepared


def _sign_with_own_key(facts: BuiltRelease) -> dict[str, Any]:
    """Return the variables of a draft, with a generated signing key instead of the live one."""
    return {
        name: {**variable, "generate": True} if name == facts.signs else variable
        for name, variable in facts.env.items()
    }


async def rehearse(
    prepared: PreparedRevision,
    at: PublishContext,
    *,
    finish_narrowing: Callable[[], Awaitable[None]],
) -> RehearsedRevision:
    """Plan the migration, and try the release on empty tables.

    `finish_narrowing` completes the previous publication's migration.
    """
    reject_failed_migration(prepared, at)
    request = RehearseMigration(
        artifact=prepared.facts.artifact, **_release_fields(prepared, at)
    )  # fmt: skip
    try:
        plan = await at.build.ask(request, timeout_seconds=MIGRATE_SECONDS)
        if plan.is_behind and not plan.is_done:
            await finish_narrowing()
            plan = await at.build.ask(request, timeout_seconds=MIGRATE_SECONDS)
    except SwitchTooLong as refused:
        raise record_failed_migration(_migration_refused(refused, at), prepared, at) from None
    except MigrationRefused as refused:
        raise _migration_refused(refused, at) from None
    except TriggerRefused as refused:
        raise _trigger_refused(refused) from None
    except DatabaseError as error:
        raise Stalled("SmokeFailed", error.message, error.hint) from None
    return prepared.with_plan(plan)


async def skip_rehearsal(prepared: PreparedRevision, at: PublishContext) -> RehearsedRevision:
    """Return a release whose tables need no migration, because it was live before."""
    del at
    return prepared.with_plan(UNCHANGED)


async def link(rehearsed: RehearsedRevision, at: PublishContext) -> LinkedRevision:
    """Link the release in every data process, without making it live."""
    facts = rehearsed.facts
    linking = Link(
        Path(facts.artifact),
        rehearsed.release,
        at.project.name,
        at.database,
        at.history,
        facts.durability,
        at.exposes_errors,
        rehearsed.env,
        folder_of(at.project.state) / facts.frontend if facts.frontend else None,
        at.url,
        None if at.hosts is None else await asyncio.to_thread(at.hosts, rehearsed.commit),
        _find_start(rehearsed, at) if at.exposes_errors else None,
        find_storage(facts.project, at),
        at.plane.settings.printer,
    )
    try:
        await at.plane.link(linking)
    except BbopsError as error:
        raise Stalled("LinkFailed", error.message, error.hint, is_passing=True) from None
    return rehearsed.with_link(linking)


def _find_start(built: BuiltRevision, at: PublishContext) -> StartPageTexts:
    """Return the texts of the start page of a draft or of `bbops dev`."""
    control, own = at.plane.settings.control_url, at.project.name
    project, _, slug = own.partition("/~drafts/")
    name = project or built.facts.project
    page = f"{control}/projects/{quote(name)}"
    page += f"/drafts/{quote(slug)}" if slug else ""
    branch = at.project.branch if at.is_draft else ""
    return StartPageTexts(name, built.release, branch, f"{page}/reference", control)


async def expand(linked: LinkedRevision, at: PublishContext) -> MigratedRevision:
    """Expand the tables so that both releases can use them."""
    request = ExpandTables(**_release_fields(linked, at))
    try:
        answer = await at.build.ask(request, timeout_seconds=MIGRATE_SECONDS)
    except MigrationRefused as refused:
        raise _migration_refused(refused, at) from None
    except TriggerRefused as refused:
        raise _trigger_refused(refused) from None
    return linked.with_changes(answer.changes)


def _release_fields(built: BuiltRevision, at: PublishContext) -> dict[str, str]:
    return {"digest": built.facts.digest, **at.request_fields}


def _trigger_refused(refused: TriggerRefused) -> Stalled:
    """Return the stalled state, which is retried because the permission is granted elsewhere."""
    return Stalled("TriggerRefused", refused.message, refused.hint, is_passing=True)


def _migration_refused(refused: MigrationRefused, at: PublishContext) -> Stalled:
    hint = _complete_command(refused.hint, at)
    if at.mode == "dev":
        hint = f"{hint}; or stop, delete '{at.project.state}' and start over"
    return Stalled("MigrationRefused", refused.message, hint)


def _complete_command(hint: str, at: PublishContext) -> str:
    """Complete the approving command, so that it works in any folder."""
    waiting = read_waiting(at.project.state)
    if waiting is None:
        return hint
    command = f"bbops db approve {waiting.hash}"
    where = f" --state {at.plane.settings.state}"
    where += f" --project {at.project.name}" if at.project.name else ""
    return hint.replace(command, command + where)


async def smoke(migrated: MigratedRevision, at: PublishContext) -> MigratedRevision:
    """Prepare every statement of the release against the expanded tables."""
    if migrated.plan.switches:
        return migrated  # names and types come with the swap; the rehearsal tried them
    request = TryStatements(artifact=migrated.facts.artifact, **at.request_fields)
    try:
        await at.build.ask(request, timeout_seconds=BUILD_SECONDS)
    except BbopsError as error:
        raise Stalled("SmokeFailed", error.message, error.hint) from None
    return migrated


async def swap(linked: L, at: PublishContext) -> L:
    """Make the release live in all processes; names and types change while requests are queued."""
    try:
        if linked.is_about_tables:
            record_intention(linked, at)  # from here on, a restart follows the database
        if linked.plan.switches:
            await _switch(linked, at)
            return linked
        if linked.is_about_tables:
            request = SettleTables(**_release_fields(linked, at))
            await at.build.ask(request, timeout_seconds=MIGRATE_SECONDS)
        await at.plane.swap(linked.link)
        return linked  # noqa: TRY300 - the errors below are of any statement above
    except MigrationRefused as refused:
        raise _migration_refused(refused, at) from None
    except DatabaseError as error:  # a retry would make requests wait again
        stalled = Stalled("SwitchFailed", error.message, error.hint)
        raise record_failed_migration(stalled, linked, at) from None
    except BbopsError as error:
        raise Stalled("LinkFailed", error.message, error.hint, is_passing=True) from None


async def _switch(linked: LinkedRevision, at: PublishContext) -> None:
    async with at.plane.held(at.project.name) as until:
        request = SwitchTables(until=until - SWAP_SECONDS, **_release_fields(linked, at))
        await at.build.ask(request, timeout_seconds=HOLD_SECONDS)
        await at.plane.swap(linked.link)


class PublishStage(NamedTuple):
    """A stage of a publication.

    Attributes:
        reason: the reason of the condition `Reconciling` while it runs.
        run: takes a record and returns the same or a grown one.
    """

    reason: str
    run: Callable[[Any, PublishContext], Awaitable[Any]]


BUILD = (PublishStage("Comparing", hold_rewritten), PublishStage("Building", build))
REVIEW = (
    PublishStage("Building", require_valid),
    PublishStage("Comparing", hold_unreviewed),
    PublishStage("Comparing", hold_frozen_frontend),
)
CHANGE = (
    PublishStage("Linking", link),
    PublishStage("Expanding", expand),
    PublishStage("Smoking", smoke),
    PublishStage("Swapping", swap),
)
"""The stages that run to their end, whatever happens to the server's loop."""

RELINK = (
    PublishStage("Environment", fill_env),
    PublishStage("Searching", search_secrets),
    PublishStage("Rehearsing", skip_rehearsal),
    PublishStage("Linking", link),
    PublishStage("Swapping", swap),
)
"""The stages of a release that was live before: after a restart, or with changed env values."""


def rehearsal(finish_narrowing: Callable[[], Awaitable[None]]) -> tuple[PublishStage, ...]:
    """Return the stages that try a release without changing anything. Arguments as `rehearse`."""
    return (
        PublishStage("Testing", test),
        PublishStage("Environment", fill_env),
        PublishStage("Searching", search_secrets),
        PublishStage("Rehearsing", partial(rehearse, finish_narrowing=finish_narrowing)),
    )
