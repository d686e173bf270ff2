"""A data process with fixed answers, for tests of the control plane."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from bbops.base.errors import ServerError
from bbops.base.json_deliveries import Delivery, DeliveryStory, DeliveryTry, JsonReceiver
from bbops.base.json_events import LoggedEvent
from bbops.base.json_jobs import Job, JobStory, TaskTime
from bbops_server.process.messages.addons import TriedAddon, TryAddon
from bbops_server.process.messages.api_keys import (
    Issued,
    IssueKey,
    Keys,
    ListKeys,
    Revoked,
    RevokeKey,
    RotateKey,
)
from bbops_server.process.messages.deliveries import (
    Deliveries,
    Enabled,
    EnableReceiver,
    ListDeliveries,
    ListReceivers,
    ReceiverList,
    RepeatDelivery,
    Repeated,
    ShowDelivery,
    ShownDelivery,
)
from bbops_server.process.messages.events import (
    EmitEvent,
    Emitted,
    ListEvents,
    LoggedEvents,
    Replayed,
    ReplayEvents,
)
from bbops_server.process.messages.jobs import (
    Changed,
    ChangeJobs,
    Jobs,
    ListJobs,
    RunDraftJobs,
    RunningJobs,
    ShowJob,
    ShownJob,
)
from bbops_server.process.messages.request import A, Answer, Request
from bbops_server.publish.processes.project_client import ProjectClient


class DataProcess:
    """The data process of the project: an answer for each request."""

    dead = Job("tasks/beat@1", "tasks/beat", "dead", 5, 2.0, 1.0, error="why")
    received = Delivery("triggers/paid@evt_1", "received", "triggers/paid", 1.0, "received")
    sent = Delivery(
        "webhooks/shops@msg_1/7", "sent", "webhooks/shops", 2.0, "failed", "order.done",
        "https://shop.example/…", 8, "it answered 500",
    )  # fmt: skip

    def __init__(self) -> None:
        self._answers: dict[type[Request[Any]], Callable[[Any], Answer]] = {
            TryAddon: self._try_addon,
            ListKeys: self._list_keys,
            IssueKey: self._issue_key,
            RotateKey: self._rotate_key,
            RevokeKey: self._revoke_key,
            ListJobs: self._list_jobs,
            ShowJob: self._show_job,
            ChangeJobs: self._change_jobs,
            RunDraftJobs: self._run_draft_jobs,
            ListDeliveries: self._list_deliveries,
            ShowDelivery: self._show_delivery,
            ListReceivers: self._list_receivers,
            EnableReceiver: self._enable_receiver,
            RepeatDelivery: self._repeat_delivery,
            ListEvents: self._list_events,
            EmitEvent: self._emit_event,
            ReplayEvents: self._replay_events,
        }

    async def ask_project(self, project: str, request: Request[A]) -> A:
        assert project == "small"
        return cast("A", self._answers[type(request)](request))

    def _try_addon(self, request: TryAddon) -> TriedAddon:
        if request.addon == "nothing":
            raise ServerError("the live release has no addon 'nothing'")
        return TriedAddon("works", "works as Acme")

    def _list_keys(self, _: ListKeys) -> Keys:
        key = {"id": "k1", "prefix": "bk_abcdef", "name": "printer", "created_at": 1.0}
        more = {"channels": None, "claims": {}, "expires_at": None, "revoked_at": None}
        return Keys([key | more | {"used_at": 60.0}])

    def _issue_key(self, request: IssueKey) -> Issued:
        if request.channels == ["nowhere"]:
            raise ServerError("channel 'nowhere' takes no API keys")
        return Issued("k2", f"bk_secret_of_{request.name}")

    def _rotate_key(self, request: RotateKey) -> Issued:
        return Issued("k3", f"bk_after_{request.key}_{request.overlap}")

    def _revoke_key(self, request: RevokeKey) -> Revoked:
        if request.key != "k1":
            raise ServerError(f"there is no API key '{request.key}'")
        return Revoked(request.key)

    def _list_jobs(self, request: ListJobs) -> Jobs:
        jobs = [self.dead] if request.state in {"", "dead"} else []
        return Jobs(jobs[: request.most], {"dead": 1}, [TaskTime("tasks/beat", 60.0)])

    def _show_job(self, request: ShowJob) -> ShownJob:
        is_known = request.job == self.dead.name
        return ShownJob(JobStory(self.dead, "{}", "", []) if is_known else None)

    def _change_jobs(self, request: ChangeJobs) -> Changed:
        if request.action == "run":
            return Changed(int(request.job == "tasks/beat"), "tasks/beat@2")
        return Changed(int(request.job in {"", self.dead.name}))

    def _run_draft_jobs(self, request: RunDraftJobs) -> RunningJobs:
        return RunningJobs(int(request.seconds > 0))

    def _list_deliveries(self, request: ListDeliveries) -> Deliveries:
        wanted = {request.direction} if request.direction else {"received", "sent"}
        found = [each for each in (self.sent, self.received) if each.direction in wanted]
        return Deliveries(found[: request.most])

    def _show_delivery(self, request: ShowDelivery) -> ShownDelivery:
        if request.delivery == self.received.id:
            return ShownDelivery(
                DeliveryStory(self.received, [("stripe-signature", "***")], "{}", [])
            )
        tries = [DeliveryTry(3.0, 500, "no", ""), DeliveryTry(4.0, None, "", "no answer")]
        is_sent = request.delivery == self.sent.id
        return ShownDelivery(DeliveryStory(self.sent, [], "{}", tries) if is_sent else None)

    def _list_receivers(self, _: ListReceivers) -> ReceiverList:
        at = "2026-11-01T00:00:00Z"
        return ReceiverList([JsonReceiver("shops", "7", "https://shop.example/…", at)])

    def _enable_receiver(self, request: EnableReceiver) -> Enabled:
        return Enabled(request.receiver == "7")

    def _repeat_delivery(self, request: RepeatDelivery) -> Repeated:
        return Repeated("triggers/paid@17" if request.delivery == self.received.id else "")

    def _list_events(self, request: ListEvents) -> LoggedEvents:
        return LoggedEvents([LoggedEvent(1, "order.paid", 1.0, "", '{"total":1}')][: request.most])

    def _emit_event(self, request: EmitEvent) -> Emitted:
        return Emitted(["triggers/paid"] if request.event == "order.paid" else [])

    def _replay_events(self, request: ReplayEvents) -> Replayed:
        if request.trigger != "triggers/paid":
            raise ServerError(f"the project has no live trigger '{request.trigger}'")
        return Replayed(2)


def process_client() -> ProjectClient:
    """Return a client for it."""
    return ProjectClient(DataProcess(), "small")  # type: ignore[arg-type]
