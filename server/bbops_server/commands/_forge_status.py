"""The state of a project's forge, for `bbops forge connect` and `bbops forge status`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import click

from bbops.base.errors import BbopsError
from bbops.base.render import one_line, plural
from bbops_server.forges.hosted import ForgeForbidden, ForgeGone
from bbops_server.forges.values import RequestBudget

if TYPE_CHECKING:
    from bbops_server.commands._forge_projects import ForgeProject
    from bbops_server.forges.hosted import HostedForge
    from bbops_server.forges.values import ForgeRight, ForgeWebhook


_UNKNOWN: Final = RequestBudget()


@dataclass(frozen=True, slots=True)
class ForgeConnection:
    """The state of a forge.

    Attributes:
        rights: the rights of the credential; empty if it is not valid.
        webhook: the webhook; None without one, or if the credential may not read it.
        budget: the requests that the forge still accepts.
        open_pulls: the number of open pull requests.
        forks: the number of open pull requests from forks.
        error: the reason that the forge rejects the credential; empty without one.
    """

    project: ForgeProject
    rights: Sequence[ForgeRight] = ()
    webhook: ForgeWebhook | None = None
    budget: RequestBudget = _UNKNOWN
    open_pulls: int = 0
    forks: int = 0
    error: BbopsError | None = None

    @property
    def is_complete(self) -> bool:
        """Whether the credential has all rights."""
        return self.error is None and all(right.is_granted for right in self.rights)

    def summarize(self) -> dict[str, Any]:
        """Return the state as JSON."""
        binding = self.project.binding
        return {
            "project": binding.project, "kind": binding.kind, "url": binding.url,
            "repository": binding.repository, "rights": summarize_rights(self.rights),
            "webhook": {
                "address": self.project.hook_address, "exists": self.webhook is not None,
                "last": self.webhook.last if self.webhook else "",
            },
            "requestsLeft": self.budget.left, "openPullRequests": self.open_pulls,
            "forks": self.forks, "forksWait": self._explain_waiting(),
            "error": self.error.message if self.error else "",
        }  # fmt: skip

    def lines(self) -> Iterator[str]:
        """Yield the state as text."""
        binding = self.project.binding
        yield f"{binding.project}: {binding.kind} {binding.url}/{binding.repository}"
        if self.error is not None:
            yield f"  error    {one_line(self.error.message)}"
            if self.error.hint:
                yield f"           hint: {one_line(self.error.hint)}"
            return
        yield from (f"  {line}" for line in describe_rights(self.rights))
        yield f"  webhook  {self._describe_webhook()}"
        left = "" if self.budget.left is None else f", {self.budget.left} requests left"
        yield f"  open     {plural(self.open_pulls, 'pull request')}{left}"
        if waiting := self._explain_waiting():
            yield f"  forks    {plural(self.forks, 'pull request')} from forks wait: {waiting}"

    def _explain_waiting(self) -> str:
        """Return why pull requests from forks wait; empty if they do not."""
        return self.budget.explain() if self.forks else ""

    def _describe_webhook(self) -> str:
        address = self.project.hook_address
        if not address:
            return "no address: 'urls: { control: https://… }' is not set"
        if self.webhook is None:
            return f"{address} is not known at the forge, or the credential may not read webhooks"
        last = f", last delivery: {self.webhook.last}" if self.webhook.last else ""
        return f"{address}{last}"


async def read_status(project: ForgeProject, forge: HostedForge) -> ForgeConnection:
    """Return the state of a forge, with the error if it rejects the credential."""
    try:
        rights = await forge.check_rights()
        pulls = await forge.list_open(project.branch)
        webhook = await _find_webhook(project, forge)
    except BbopsError as error:
        return ForgeConnection(project, error=error)
    forks = sum(pull.is_fork for pull in pulls)
    return ForgeConnection(project, rights, webhook, forge.budget, len(pulls), forks)


async def _find_webhook(project: ForgeProject, forge: HostedForge) -> ForgeWebhook | None:

    try:
        return await forge.find_webhook(project.hook_address) if project.hook_address else None
    except (ForgeForbidden, ForgeGone):  # only some credentials read webhooks
        return None


def summarize_rights(rights: Sequence[ForgeRight]) -> list[dict[str, Any]]:
    """Return rights as JSON."""
    return [
        {"name": right.name, "purpose": right.purpose, "granted": right.is_granted}
        for right in rights
    ]


def describe_rights(rights: Sequence[ForgeRight]) -> Iterator[str]:
    """Yield a line for each right."""
    for right in rights:
        word = "ok     " if right.is_granted else click.style("missing", fg="red")
        yield f"{word}  {right.name}: {right.purpose}"
