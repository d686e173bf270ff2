"""A push: the answers to its hooks, and the result of each ref."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from bbops.base.errors import BbopsError, GitError
from bbops.base.render import printable
from bbops.source.git.proposals import Wish
from bbops_server.accounts.rules import Caller, Permission
from bbops_server.git_http.checking import Check
from bbops_server.git_http.hooks import HookInput, Say
from bbops_server.git_http.publishing import Waiting
from bbops_server.git_http.reach import AccessCheck
from bbops_server.git_http.refs import Rights, Update, read_target, read_updates
from bbops_server.git_http.repository import Repository
from bbops_server.process.children import SupervisedChild
from bbops_server.publish.proposals.workflow import ProposalWorkflow, propose

IsSame = Callable[[], Awaitable[bool]]
"""Returns whether the account, the token and the role are the same as at the start."""

QUICK_SECONDS: Final = 2.0
"""The time that a push waits for the tests of a proposal."""

_READY: Final[Mapping[str, bool]] = {"": True, "yes": True, "no": False}


class Push:
    """A push of a user to a repository."""

    def __init__(
        self, build: SupervisedChild, repository: Repository, caller: Caller,
        control: ProposalWorkflow, is_same: IsSame,
    ) -> None:  # fmt: skip
        self._build, self._repository, self._caller, self._proposing = (
            build,
            repository,
            caller,
            control,
        )
        self._is_same = is_same
        self._asked: tuple[Update, ...] = ()
        self._done: set[str] = set()

    async def answer(self, told: HookInput, say: Say) -> bool:
        """Answer a hook; False for an unknown one."""
        updates = read_updates(told.lines)
        if told.hook == "pre-receive":
            self._asked = updates
            if not await self._is_same():  # a body may take minutes to arrive
                await say("your account, token or role has changed in the meantime; push again")
                return False
            reach = AccessCheck(self._build, self._repository, self._caller, Permission.PUSH_DRAFT)
            check = Check(self._build, self._repository, told.quarantine, say)
            rights = self._repository.rights(self._caller)
            if not await check.run(updates, rights, reach):
                return False
            await self._note_arrivals(updates, rights, told.quarantine)
            return True
        if told.hook == "proc-receive":
            await self._propose(updates, _read_options(told.options), say)
            return True
        if told.hook == "post-receive":
            self._done |= {update.ref for update in updates}
            await self._publish(updates, say)
            return True
        return False

    def outcomes(self) -> Iterator[tuple[str, str]]:
        """Yield each change of a ref, and its result: `done` or `refused`."""
        for update in self._asked:
            yield str(update), "done" if update.ref in self._done else "refused"

    async def _note_arrivals(
        self, updates: Sequence[Update], rights: Rights, quarantine: str
    ) -> None:
        """Record the user who pushed the commits, who may differ from the author of a proposal."""
        only = rights.live if len(rights.live) == 1 else ()  # its commits need no proposal
        tips = [update.new for update in updates if update.new and update.branch not in only]
        if tips:
            await asyncio.to_thread(
                self._proposing.forge.note_arrivals, tips, self._caller.email,
                Path(quarantine) if quarantine else None,
            )  # fmt: skip

    # ---- proposals
    async def _propose(
        self, updates: Sequence[Update], options: Mapping[str, str], say: Say
    ) -> None:
        """Open or update a proposal for each ref; git reads the output as its report."""
        for update in updates:
            target, topic = read_target(update.ref, {self._repository.main_branch}) or ("", "")
            try:
                wish = Wish(
                    update.new, target, topic or options.get("topic", ""), self._caller.email,
                    options.get("title", ""), options.get("description", ""),
                    _read_ready(options),
                    _read_people(options["reviewers"]) if "reviewers" in options else None,
                )  # fmt: skip
                await self._propose_one(update.ref, wish, say, is_forced="force" in options)
            except BbopsError as error:
                text = f"{error.message}; {error.hint}" if error.hint else error.message
                await say(f"ng {update.ref} {' '.join(printable(text).split())}")

    async def _propose_one(self, ref: str, wish: Wish, say: Say, *, is_forced: bool) -> None:
        made, old = await asyncio.to_thread(
            propose, self._proposing.forge, wish, is_forced=is_forced
        )
        self._done.add(ref)
        await say(f"ok {ref}\noption refname refs/pull/{made.number}/head")
        before = old or "0" * len(made.head)
        await say(f"option old-oid {before}\noption new-oid {made.head}")
        if is_forced:
            await say("option forced-update")

    # ---- branches and tags
    async def _publish(self, updates: Sequence[Update], say: Say) -> None:
        waiting = []
        for update in updates:
            followers = self._repository.of_branch(update.branch)
            waiting += [Waiting(found.reconciler, update.new, say) for found in followers]
            if update.number is not None:
                await self._tell_proposal(update, update.number, say)
            elif update.branch and update.new and not followers:
                await self._tell_previews(update.branch, say)
        await asyncio.gather(*(publication.run() for publication in waiting))

    async def _tell_previews(self, branch: str, say: Say) -> None:
        for drafts in self._repository.drafts:
            drafts.refresh()
            await say(f"draft '{printable(branch)}': {drafts.url_of(branch)}")

    async def _tell_proposal(self, update: Update, number: int, say: Say) -> None:
        verb = "updated" if update.old else "opened"
        await say(f"{verb} proposal #{number}: {self._proposing.page(number)}")
        await self._tell_previews(self._proposing.preview_branch(number), say)
        self._proposing.prepare_preview(number)
        found, merge_status = await self._proposing.find_status(number, wait_seconds=QUICK_SECONDS)
        await say(f"{printable(found.title)}: {merge_status.summary}")
        for obstacle in merge_status.obstacles:
            await say(f"    {printable(obstacle)}")
        tests = merge_status.tests
        if tests and tests.state != "running" and tests.summary not in merge_status.obstacles:
            await say(printable(tests.summary))


def _read_ready(options: Mapping[str, str]) -> bool | None:
    """Return the option `ready`, None without it. Raises: GitError: it is not yes or no."""
    given = options.get("ready")
    if given is None or given in _READY:
        return None if given is None else _READY[given]
    raise GitError(f"'ready={given[:20]}' must be yes or no", hint="use -o ready=no")


def _read_people(text: str) -> tuple[str, ...]:
    return tuple(text.replace(",", " ").split())


def _read_options(options: Sequence[str]) -> dict[str, str]:
    """Read `git push -o title=Words -o force`."""
    return {name: value for name, _, value in (option.partition("=") for option in options)}
