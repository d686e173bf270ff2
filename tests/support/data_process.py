"""A data process with fixed answers, for tests of the control plane."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from msgspec.structs import replace

from bbops.base.errors import ServerError
from bbops.base.json_work import (
    AgentCall,
    AgentRun,
    AgentRunStory,
    AgentStep,
    AgentUsage,
    DecidedCall,
    Delivery,
    DeliveryStory,
    DeliveryTry,
    Job,
    JobStory,
    JsonReceiver,
    LoggedEvent,
    TaskTicks,
    TaskTime,
    TickTime,
)
from bbops_server.process.messages.agents import (
    CountAgentRuns,
    CountAgentRunsAnswer,
    DecideAgentCall,
    DecideAgentCallAnswer,
    ListAgentCalls,
    ListAgentCallsAnswer,
    ListAgentRuns,
    ListAgentRunsAnswer,
    ShowAgentRun,
    ShowAgentRunAnswer,
)
from bbops_server.process.messages.api_keys import (
    IssueKey,
    KeyAnswer,
    ListKeys,
    ListKeysAnswer,
    RevokeKey,
    RevokeKeyAnswer,
    RotateKey,
    TryAddon,
    TryAddonAnswer,
)
from bbops_server.process.messages.deliveries import (
    EnableReceiver,
    EnableReceiverAnswer,
    ListDeliveries,
    ListDeliveriesAnswer,
    ListReceivers,
    ReceiverList,
    RepeatDelivery,
    RepeatDeliveryAnswer,
    ShowDelivery,
    ShowDeliveryAnswer,
)
from bbops_server.process.messages.events import (
    EmitEvent,
    EmitEventAnswer,
    ListEvents,
    ListEventsAnswer,
    ReplayEvents,
    ReplayEventsAnswer,
)
from bbops_server.process.messages.jobs import (
    ChangeJobs,
    ChangeJobsAnswer,
    ListJobs,
    ListJobsAnswer,
    ListTicks,
    ListTicksAnswer,
    RunDraftJobs,
    RunDraftJobsAnswer,
    ShowJob,
    ShowJobAnswer,
)
from bbops_server.process.messages.request import A, AnswerMessage, RequestMessage
from bbops_server.publish.processes.project_client import ProjectClient


class DataProcess:
    """The data process of the project: an answer for each request."""

    dead = Job("tasks/beat@1", "tasks/beat", "dead", 5, 2.0, 1.0, error="why")
    received = Delivery("triggers/paid@evt_1", "received", "triggers/paid", 1.0, "received")
    sent = Delivery(
        "webhooks/shops@msg_1/7", "sent", "webhooks/shops", 2.0, "failed", "order.done",
        "https://shop.example/…", 8, "it answered 500",
    )  # fmt: skip

    agent_run = AgentRun(
        "agents/helpdesk/chat@1", "helpdesk", "chat", "c1", "7", "waiting", "", 300, 30, 0.36,
        1.0, None,
    )  # fmt: skip
    agent_call = AgentCall(
        "a1", agent_run.name, "helpdesk", "c1", "7", "notes/add", {"text": "tea"}, "waiting", "",
        2.0, None, 604_802.0,
    )  # fmt: skip
    agent_steps = (
        AgentStep(0, "message", 1.0, 0, 0, 0, "Add a note."),
        AgentStep(
            1, "model", 2.0, 900, 300, 30, "I add it.",
            calls=[{"tool": "notes/add", "arguments": {"text": "tea"}}],
        ),
        AgentStep(2, "tool", 3.0, 4, 0, 0, '{"id":1}', "notes/add", arguments={"text": "tea"}),
    )  # fmt: skip

    def __init__(self) -> None:
        self._answers: dict[type[RequestMessage[Any]], Callable[[Any], AnswerMessage]] = {
            TryAddon: self._try_addon,
            ListKeys: self._list_keys,
            IssueKey: self._issue_key,
            RotateKey: self._rotate_key,
            RevokeKey: self._revoke_key,
            ListJobs: self._list_jobs,
            ListTicks: self._list_ticks,
            ShowJob: self._show_job,
            ChangeJobs: self._change_jobs,
            RunDraftJobs: self._run_draft_jobs,
            ListDeliveries: self._list_deliveries,
            ShowDelivery: self._show_delivery,
            ListReceivers: self._list_receivers,
            EnableReceiver: self._enable_receiver,
            RepeatDelivery: self._repeat_delivery,
            ListAgentRuns: self._list_agent_runs,
            ShowAgentRun: self._show_agent_run,
            CountAgentRuns: self._count_agent_runs,
            ListAgentCalls: self._list_agent_calls,
            DecideAgentCall: self._decide_agent_call,
            ListEvents: self._list_events,
            EmitEvent: self._emit_event,
            ReplayEvents: self._replay_events,
        }

    async def ask_project(self, project: str, request: RequestMessage[A]) -> A:
        assert project == "small"
        return cast("A", self._answers[type(request)](request))

    def _try_addon(self, request: TryAddon) -> TryAddonAnswer:
        if request.addon == "nothing":
            raise ServerError("the live release has no addon 'nothing'")
        return TryAddonAnswer("works", "works as Acme")

    def _list_keys(self, _: ListKeys) -> ListKeysAnswer:
        key = {"id": "k1", "prefix": "bk_abcdef", "name": "printer", "created_at": 1.0}
        more = {"channels": None, "claims": {}, "expires_at": None, "revoked_at": None}
        return ListKeysAnswer([key | more | {"used_at": 60.0}])

    def _issue_key(self, request: IssueKey) -> KeyAnswer:
        if request.channels == ["nowhere"]:
            raise ServerError("channel 'nowhere' takes no API keys")
        return KeyAnswer("k2", f"bk_secret_of_{request.name}")

    def _rotate_key(self, request: RotateKey) -> KeyAnswer:
        return KeyAnswer("k3", f"bk_after_{request.key}_{request.overlap}")

    def _revoke_key(self, request: RevokeKey) -> RevokeKeyAnswer:
        if request.key != "k1":
            raise ServerError(f"there is no API key '{request.key}'")
        return RevokeKeyAnswer(request.key)

    def _list_jobs(self, request: ListJobs) -> ListJobsAnswer:
        jobs = [self.dead] if request.state in {"", "dead"} else []
        return ListJobsAnswer(jobs[: request.most], {"dead": 1}, [TaskTime("tasks/beat", 60.0)])

    def _list_ticks(self, request: ListTicks) -> ListTicksAnswer:
        ticks = [TickTime(60.0, "1970-01-01T01:01:00+01:00")][: request.count]
        known = TaskTicks("tasks/beat", "every 0:01:00", "Europe/Berlin", 0.0, ticks)
        return ListTicksAnswer([known] if request.task in {"", known.task} else [])

    def _show_job(self, request: ShowJob) -> ShowJobAnswer:
        is_known = request.job == self.dead.name
        return ShowJobAnswer(JobStory(self.dead, "{}", "", []) if is_known else None)

    def _change_jobs(self, request: ChangeJobs) -> ChangeJobsAnswer:
        if request.action == "run":
            return ChangeJobsAnswer(int(request.job == "tasks/beat"), "tasks/beat@2")
        return ChangeJobsAnswer(int(request.job in {"", self.dead.name}))

    def _run_draft_jobs(self, request: RunDraftJobs) -> RunDraftJobsAnswer:
        return RunDraftJobsAnswer(int(request.seconds > 0))

    def _list_deliveries(self, request: ListDeliveries) -> ListDeliveriesAnswer:
        wanted = {request.direction} if request.direction else {"received", "sent"}
        found = [each for each in (self.sent, self.received) if each.direction in wanted]
        return ListDeliveriesAnswer(found[: request.most])

    def _show_delivery(self, request: ShowDelivery) -> ShowDeliveryAnswer:
        if request.delivery == self.received.id:
            return ShowDeliveryAnswer(
                DeliveryStory(self.received, [("stripe-signature", "***")], "{}", [])
            )
        tries = [DeliveryTry(3.0, 500, "no", ""), DeliveryTry(4.0, None, "", "no answer")]
        is_sent = request.delivery == self.sent.id
        return ShowDeliveryAnswer(DeliveryStory(self.sent, [], "{}", tries) if is_sent else None)

    def _list_receivers(self, _: ListReceivers) -> ReceiverList:
        at = "2026-11-01T00:00:00Z"
        problem = "'events' needs a list of names"
        return ReceiverList([
            JsonReceiver("shops", "7", "https://shop.example/…", at),
            JsonReceiver("shops", "8", "https://desk.example/…", "", problem),
        ])  # fmt: skip

    def _enable_receiver(self, request: EnableReceiver) -> EnableReceiverAnswer:
        return EnableReceiverAnswer(request.receiver == "7")

    def _repeat_delivery(self, request: RepeatDelivery) -> RepeatDeliveryAnswer:
        return RepeatDeliveryAnswer(
            "triggers/paid@17" if request.delivery == self.received.id else ""
        )

    def _list_agent_runs(self, request: ListAgentRuns) -> ListAgentRunsAnswer:
        is_asked = request.agent in {"", self.agent_run.agent}
        return ListAgentRunsAnswer([self.agent_run] if is_asked else [])

    def _show_agent_run(self, request: ShowAgentRun) -> ShowAgentRunAnswer:
        if request.run != self.agent_run.name:
            return ShowAgentRunAnswer(None)
        story = AgentRunStory(self.agent_run, None, [*self.agent_steps], [self.agent_call])
        return ShowAgentRunAnswer(story)

    def _count_agent_runs(self, _: CountAgentRuns) -> CountAgentRunsAnswer:
        return CountAgentRunsAnswer([AgentUsage("helpdesk", 2, 1, 600, 60, 0.72)])

    def _list_agent_calls(self, _: ListAgentCalls) -> ListAgentCallsAnswer:
        return ListAgentCallsAnswer([self.agent_call])

    def _decide_agent_call(self, request: DecideAgentCall) -> DecideAgentCallAnswer:
        if request.call != self.agent_call.id:
            return DecideAgentCallAnswer(None)
        state = "approved" if request.is_approved else "rejected"
        call = replace(self.agent_call, state=state, decided_by=request.by)
        return DecideAgentCallAnswer(DecidedCall(is_changed=True, call=call))

    def _list_events(self, request: ListEvents) -> ListEventsAnswer:
        return ListEventsAnswer(
            [LoggedEvent(1, "order.paid", 1.0, "", '{"total":1}')][: request.most]
        )

    def _emit_event(self, request: EmitEvent) -> EmitEventAnswer:
        return EmitEventAnswer(["triggers/paid"] if request.event == "order.paid" else [])

    def _replay_events(self, request: ReplayEvents) -> ReplayEventsAnswer:
        if request.trigger != "triggers/paid":
            raise ServerError(f"the project has no live trigger '{request.trigger}'")
        return ReplayEventsAnswer(2)


def process_client() -> ProjectClient:
    """Return a client for it."""
    return ProjectClient(DataProcess(), "small")  # type: ignore[arg-type]
