"""The backend of project tools on a server, with permissions and the audit log."""

from __future__ import annotations

import dataclasses
import re
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec
from msgspec.structs import replace

from bbops.base.errors import BbopsError
from bbops.base.json_work import TestedAddon
from bbops.interfaces.mcp.operation import RepositoryOperation
from bbops.interfaces.mcp.project.apply_changes import ApplyChangesResult
from bbops.interfaces.mcp.project.preview_changes import PreviewChangesResult
from bbops.interfaces.mcp.project.preview_request import SIGN_IN, SignInParams
from bbops.interfaces.mcp.project_backend import (
    Activity,
    CommitProgress,
    CommitTests,
    DraftResponse,
    JobBackend,
    MergeOutcome,
    ProjectBackend,
    ProjectState,
    ProposalEdit,
    PullRequestDetail,
    RequestToDraft,
)
from bbops.interfaces.mcp.tool import NextCall, ToolError
from bbops.source.git.proposals import Wish
from bbops.source.git.revisions import commit_of
from bbops_server.accounts.rules import Caller, Permission
from bbops_server.data_plane.live.history import FAILED, find
from bbops_server.git_http.publishing import Waiting
from bbops_server.git_http.repository import show_to
from bbops_server.mcp.fair_queue import ask
from bbops_server.mcp.requests import (
    Exchanged,
    Outgoing,
    find_head,
    read_subject,
    send_to_draft,
    sign_in,
    wake,
)
from bbops_server.mcp.serialization import (
    serialize_diagnostics,
    serialize_progress,
    serialize_proposal,
    serialize_proposal_detail,
)
from bbops_server.mcp.served import WORDS, ControlPlane, Served, ServedJobs, test_addon
from bbops_server.process.messages.builds import RunCommitTests
from bbops_server.process.messages.proposals import DoWork
from bbops_server.publish.impact.impact import TEST_SECONDS, ProposalTestRequest
from bbops_server.publish.sources.remote import RemoteSource
from bbops_server.publish.sources.values import is_full_id

if TYPE_CHECKING:
    from bbops_server.mcp.hosted_pulls import HostedPulls

T = TypeVar("T", bound=msgspec.Struct)
G = TypeVar("G", bound=msgspec.Struct)

WORK_SECONDS: Final = 90.0
LIVE_SECONDS: Final = 20.0
"""The time that a merge waits to be live; `publish_status` shows its progress after that."""
ANSWER_SECONDS: Final = 20.0
TOKEN_SECONDS: Final = 60.0
MOST_BODY: Final = 16_000
MOST_PULLS: Final = 20
_PUSHED: Final = frozenset({"apply_changes", "recovery_rollback"})
"""Operations whose commits are pushed to the forge."""

_LOOKS: Final = 10
_LOOK_SECONDS: Final = 0.15
_MOST_LOOKED_AT: Final = 20
_SHOWN: Final = (
    "id", "at", "method", "path", "route", "endpoint", "status", "milliseconds", "user", "release",
    "failure", "step", "steps", "refusal", "request", "exchange",
)  # fmt: skip
"""The shown fields of a request in the history."""


def open_workplace(
    control: ControlPlane, caller: Caller, project: str, *, address: str = ""
) -> ProjectBackend:  # fmt: skip
    """Return the backend of a caller's tools for a project, which is not read yet."""
    return ServedBackend(Served(control, caller, project, address))


class ServedBackend:
    """The `ProjectBackend` of a project that this server follows."""

    def __init__(self, served: Served) -> None:
        self._at = served

    async def run_operation(self, operation: RepositoryOperation[T, G], taken: T) -> G:
        """Run an operation in the build process."""
        needed = Permission.PUSH_DRAFT if operation.writes else Permission.READ_PROJECT
        await self._at.require(needed)
        if operation.leaves_objects:
            self._at.count()
        hosted, draft = self._hosted(), str(getattr(taken, "draft", ""))
        is_pushed = hosted is not None and operation.name in _PUSHED
        trailer = await hosted.make_trailer() if hosted is not None and is_pushed else ""
        bench = await self._at.bench(writes_to_forge=is_pushed, trailer=trailer)
        known = ""
        if hosted is not None and draft:
            known = await hosted.fetch(draft)
        elif operation.writes and not bench.elsewhere:
            await self._at.require(needed, head=await find_head(self._at, draft) if draft else "")
        asked = DoWork(operation.name, msgspec.to_builtins(taken), bench)
        build, caller = self._at.loop.context.plane.build, self._at.caller
        async with self._at.control.turns.turn(caller.person or caller.how):
            answer = await build.ask(asked, timeout_seconds=WORK_SECONDS)
        if answer.refused is not None:
            message, hint, calls = msgspec.structs.astuple(answer.refused)
            raise ToolError(message, hint=hint, next=tuple(NextCall(**call) for call in calls))
        given = answer.done or {}
        done = msgspec.convert(given, operation.gives)
        if isinstance(done, ApplyChangesResult) and hosted is not None:
            await hosted.push(done.draft, done.commit, known)
        if operation.activity:
            await self._at.note(operation.activity, _about(given))
            if isinstance(done, ApplyChangesResult) and hosted is None and not bench.elsewhere:
                email = self._at.caller.email
                await ask(self._at.proposing().forge.note_commit, done.commit, email)
            self._hurry()
        return self._know_values(done)

    def _hosted(self) -> HostedPulls | None:
        """Return the project's pull requests on a forge; None if this server has its proposals."""
        loop = self._at.loop
        pulls = self._at.control.status.pulls(self._at.project)
        forge, source = loop.context.forge, loop.source
        if forge is None or not isinstance(source, RemoteSource) or pulls is None:
            return None
        from bbops_server.mcp.hosted_pulls import HostedPulls  # noqa: PLC0415 - plans and git

        return HostedPulls(self._at, forge, source, pulls)

    def _hurry(self) -> None:
        drafts = self._at.control.status.drafts(self._at.project)
        if drafts is not None:
            drafts.refresh()

    def _know_values(self, done: G) -> G:
        """Return a preview without the variables that have values: only this process knows them."""
        if not isinstance(done, PreviewChangesResult):
            return done
        secrets = self._at.loop.context.secrets
        missing = [name for name in done.missing_env if not secrets.has(name)]
        return replace(done, missing_env=missing)

    async def read_state(self) -> ProjectState:
        """Return the live commit, the open proposals, and the permissions of the caller."""
        await self._at.require(Permission.READ_PROJECT)
        board = self._at.loop.board
        stalled = board.stalled
        return ProjectState(
            board.name, board.url, commit_of(board.applied), board.version,
            stalled.as_sentence() if stalled else "",
            tuple(word for word, permission in WORDS.items() if self._at.may(permission)),
            await self._open_pulls(),
        )  # fmt: skip

    async def _open_pulls(self) -> tuple[Any, ...]:
        if (hosted := self._hosted()) is not None:
            return hosted.list()[:MOST_PULLS]
        try:
            forge = self._at.proposing().forge
        except ToolError:  # proposals are on the repository's own host
            return ()
        found = await ask(forge.list, "open")
        return tuple(serialize_proposal(proposal) for proposal in found[:MOST_PULLS])

    async def test(self, commit: str) -> CommitTests:
        """Run the tests in a queue, so that publications do not wait for them."""
        await self._at.require(Permission.READ_PROJECT)
        self._at.count()
        bench, at = await self._at.bench(), self._at.loop.context
        source = {
            "kind": "git", "repository": bench.repository, "commit": commit,
            "branch": bench.live, "path": bench.folder,
        }  # fmt: skip
        place = str(at.project.state / "agents" / commit)
        asked = RunCommitTests(source, place, bench.engine, bench.off)
        trial = ProposalTestRequest(place, (self._at.project, commit, *bench.off), asked)
        tests = await self._at.git.proposal_tests.find_results(trial, wait_seconds=TEST_SECONDS)
        if tests.state in {"unknown", "running"}:
            raise ToolError(tests.summary, hint="try again in a moment")
        cases = tests.passed + tests.failed
        return CommitTests(
            cases, tests.failed, round(tests.seconds, 2), serialize_diagnostics(tests.diagnostics)
        )

    async def send_request(self, asked: RequestToDraft) -> DraftResponse:
        """Send a request to a draft, with a token that is valid for a minute."""
        sent = await self.exchange(asked)
        body = sent.reply.body.decode(errors="replace")
        return DraftResponse(
            sent.commit, sent.reply.status, dict(sent.reply.headers), body[:MOST_BODY],
            sent.reply.is_cut or len(body) > MOST_BODY, sent.milliseconds, sent.failure, sent.step,
        )  # fmt: skip

    async def exchange(self, request: RequestToDraft, *, is_traced: bool = False) -> Exchanged:
        """Send a request to a draft, see `bbops_server.mcp.requests`."""
        await self._at.require(Permission.OPEN_DRAFT)
        if request.user is not None:  # the author of a draft's code can be any user of it
            await self._at.require(Permission.PUSH_DRAFT)
        drafts, draft = await wake(self._at, request.draft)
        headers, user = tuple(request.headers.items()), ""
        if request.user is not None:
            how = await self.run_operation(SIGN_IN, SignInParams(draft.commit))
            token = await sign_in(self._at, draft, request.user, how)
            headers, user = (*headers, ("authorization", token)), read_subject(token)
        outgoing = Outgoing(request.method, request.path, headers, request.body)
        exchanged = await send_to_draft(drafts, draft, outgoing, is_traced=is_traced)
        return dataclasses.replace(exchanged, user=user)

    # ---- proposals
    async def propose(self, draft: str, edit: ProposalEdit) -> PullRequestDetail:
        """Open the proposal of a draft; its author is the caller."""
        await self._at.require(Permission.PROPOSE)
        if (hosted := self._hosted()) is not None:
            return await hosted.open(draft, edit)
        if draft in {follower.source.branch for follower in self._at.repository().followers}:
            raise ToolError(f"branch '{draft}' is live", hint="commit to a draft, and propose it")
        head = await ask(self._at.proposing().forge.resolve, draft)
        return await self.restore(head, draft, edit)

    async def restore(self, commit: str, topic: str, edit: ProposalEdit) -> PullRequestDetail:
        """Propose a commit, which need not be on a branch."""
        if (hosted := self._hosted()) is not None:
            await self._at.require(Permission.PROPOSE)
            draft = re.sub(r"[^a-z0-9._-]+", "-", topic.lower())
            await hosted.push(draft, commit, await hosted.fetch(draft))
            return await hosted.open(draft, edit)
        await self._at.require(Permission.PROPOSE, head=commit)
        control, target = self._at.proposing(), self._at.loop.source
        branch = getattr(target, "branch", "main")
        wish = Wish(
            commit, branch, topic, self._at.caller.email, edit.title, edit.body, edit.ready,
            edit.reviewers,
        )  # fmt: skip
        made = await control.open(wish)
        await self._at.note("propose", f"#{made.number}")
        return await self.read_proposal(made.number)

    async def read_proposal(self, number: int) -> PullRequestDetail:
        """Return a proposal."""
        await self._at.require(Permission.READ_PROJECT)
        if (hosted := self._hosted()) is not None:
            return await hosted.read(number)
        control = self._at.proposing()
        found, merge_status = await control.find_status(number)
        merge_status = show_to(merge_status, self._at.repository(), self._at.caller)
        drafts = self._at.control.status.drafts(self._at.project)
        preview = drafts.url_of(control.preview_branch(number)) if drafts is not None else ""
        return serialize_proposal_detail(found, merge_status, control.page(number), preview)

    async def comment(self, number: int, text: str) -> str:
        """Comment on the current head of a proposal, without approving it."""
        await self._at.require(Permission.REVIEW)
        control = self._at.proposing()
        found, merge_status = await control.find_status(number)
        await self._at.require(Permission.REVIEW, head=found.head)
        await ask(
            control.forge.review, number, self._at.caller.email, "commented", text,
            merge_status.demands.digest,
        )  # fmt: skip
        await self._at.note("comment on proposal", f"#{number}")
        return control.page(number)

    async def publish(self, number: int, head: str) -> MergeOutcome:
        """Merge a proposal if rules and permissions allow it; else return the obstacles."""
        if (hosted := self._hosted()) is not None:
            await self._at.require(Permission.READ_PROJECT)
            return await hosted.merge(number, head)
        found = await self.read_proposal(number)
        again = NextCall("review_pull_request", {"number": number}, "read the current state")
        if found.state == "merged":
            return MergeOutcome("merged", commit=found.result)
        if found.state != "open":
            return MergeOutcome("refused", (f"it is {found.state}",))
        if not is_full_id(head, found.head):
            message = f"pull request #{number} is {found.head[:12]} by now, not {head[:12]}"
            raise ToolError(message, next=(again,))
        if found.obstacles:
            return MergeOutcome("waiting" if found.waits else "refused", found.obstacles)
        if found.by_person or not self._at.may(Permission.MERGE):
            await self._at.note("merge proposal", f"#{number}", "refused")
            who = "a person" if found.by_person else "a maintainer"
            return MergeOutcome("waiting", (f"{who}, who merges it: {found.url}",))
        await self._at.require(Permission.MERGE, head=found.head)
        return await self._merge(number, found.head)

    async def _merge(self, number: int, head: str) -> MergeOutcome:
        try:
            done = await self._at.proposing().merge(
                number, self._at.caller.email, head=head, by_agent=True
            )
        except BbopsError as error:
            await self._at.note("merge proposal", f"#{number}", "refused")
            return MergeOutcome("waiting", (error.message,))
        await self._at.note("merge proposal", f"#{number}")
        lines, is_live = list[str](), True

        async def say(text: str) -> None:
            lines.append(text)

        for follower in self._at.repository().of_branch(done.target):
            waiting = Waiting(follower.reconciler, done.merged, say)
            is_live = await waiting.run(LIVE_SECONDS) and is_live
        return MergeOutcome("merged", (), done.merged, is_live, tuple(lines))

    async def read_progress(self, commit: str) -> CommitProgress:
        """Return the progress of a commit."""
        await self._at.require(Permission.READ_PROJECT)
        loop = self._at.loop
        newest = await loop.source.revision(loop.context.plane.build)
        return serialize_progress(loop.board, commit, newest.commit if newest else "")

    async def activity(
        self, *, only_failed: bool, endpoint: str, since: float, before: int, limit: int,
        details: bool,
    ) -> Activity:  # fmt: skip
        """Return requests of the history, which has no secrets."""
        await self._at.require(Permission.READ_REQUESTS)
        history = self._at.control.status.history(self._at.project)
        if history is None:
            raise ToolError(f"there is no project '{self._at.project}'")
        begin = _now() + since if since < 0 else since
        found = await ask(
            find, history, limit=limit, before=before, since=max(begin, 0.0), details=details,
            endpoint=endpoint, status=FAILED if only_failed else "",
        )  # fmt: skip
        items = tuple(
            {name: request[name] for name in _SHOWN if request.get(name)}
            for request in reversed(found)
        )
        return Activity(items, found[0]["id"] if len(found) == limit else 0)

    async def test_addon(self, addon: str, draft: str) -> TestedAddon:
        """Test the connection of an addon, see `bbops_server.mcp.served`."""
        return await test_addon(self._at, partial(wake, self._at), addon, draft)

    async def jobs(self, draft: str) -> JobBackend:
        """Return the jobs of a draft, which is woken, or live jobs if `draft` is empty."""
        await self._at.require(Permission.READ_JOBS)
        if draft:
            drafts, status = await wake(self._at, draft)
            return ServedJobs(self._at, drafts.client(status.slug), status.slug)
        client = self._at.control.status.client(self._at.project)
        if client is None:
            raise ToolError(f"there is no project '{self._at.project}'")
        return ServedJobs(self._at, client)


def _about(done: dict[str, Any]) -> str:
    """Return the subject of an operation for the audit log."""
    words = [done.get(name, "") for name in ("draft", "tag", "commit", "head")]
    return " ".join(str(word) for word in words if word)[:200]


def _now() -> float:
    return datetime.now(UTC).timestamp()  # noqa: TID251 - the server's own clock
