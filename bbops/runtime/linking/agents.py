"""Link agents: the functions of their jobs, and the routes of their chats."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bbops.runtime.agents.chats import ChatFunctions, ChatSettings
from bbops.runtime.agents.conversation import ModelSettings, ToolSpec
from bbops.runtime.agents.dialects import dialect_of
from bbops.runtime.agents.loop import ANSWER, AgentRuns, AgentSettings, RunLimits
from bbops.runtime.agents.tools import LinkedTool
from bbops.runtime.agents.values import PATH, function_name
from bbops.runtime.flow.masking import Mask
from bbops.runtime.flow.run import Function
from bbops.runtime.http.cors import Cors
from bbops.runtime.http.rate_limits import Limit
from bbops.runtime.http.responses import Answering
from bbops.runtime.linking.functions import link_condition, make_function
from bbops.runtime.linking.lasting import Lasting
from bbops.runtime.linking.pipeline import Pipeline, Policy
from bbops.runtime.steps.addons import Terms, make_reader
from bbops.runtime.values.shapes import compile_shape

MOST_BYTES = 200_000
"""The largest body of a request to a chat."""
_SPARE_SECONDS = 15.0
"""How much longer than its run a request to a chat may take: other runs may come first."""


def link_agent(data: Mapping[str, Any], functions: Mapping[str, Function], mask: Mask) -> Function:
    """Return the function of an agent's jobs.

    Args:
        data: the compiled agent.
        functions: the functions of the project as jobs run them.
        mask: the mask of the release.
    """
    limits = RunLimits(
        data["max_steps"],
        data["tokens"],
        data["money"],
        data["concurrency"],
        data["attempts"],
        data["turn_attempts"],
    )
    output = data["output"]
    settings = AgentSettings(
        data["name"], ModelSettings(**data["model"]), dialect_of(data["addon"]),
        Terms(*data["terms"]), make_reader(data["step"], data["gives"]), data["prices"],
        data["instructions"], {tool["name"]: _tool(tool, functions) for tool in data["tools"]},
        data["memory"], None if output is None else compile_shape(output),
        None if output is None
        else ToolSpec(ANSWER, "Gives the final answer.", data["output_schema"]),
        limits, frozenset(data["told"]), mask,
    )  # fmt: skip
    needs = frozenset({"job", "event", "trigger", "input", "auth"})
    return make_function(function_name(data["name"]), data["file"], AgentRuns(settings).flow, needs)


def _tool(data: Mapping[str, Any], functions: Mapping[str, Function]) -> LinkedTool:
    code, approval = data["approval_code"], data["approval"]
    return LinkedTool(
        ToolSpec(data["name"], data["description"], data["schema"]), functions[data["function"]],
        compile_shape(data["arguments"]), data["parts"],
        approval if code is None else link_condition(code),
    )  # fmt: skip


def link_chats(
    data: Mapping[str, Any], answering: Answering, lasting: Lasting
) -> Iterator[tuple[str, str, Pipeline]]:
    """Yield method, path and target of each route of the agents that people can talk to."""
    origins = data["origins"]
    for chat in data["chats"]:
        settings = ChatSettings(
            chat["name"], chat["names"], chat["keeps_ms"], chat["timeout_seconds"], answering.mask
        )
        chats, path = ChatFunctions(settings), f"{PATH}{chat['name']}"
        routes = (
            ("POST", path, chats.speak, chats.message_shape()),
            ("POST", f"{path}/approvals/:approval", chats.decide, chats.decision_shape()),
            ("GET", f"{path}/chats/:chat", chats.show, None),
        )
        for method, where, flow, shape in routes:
            if flow == chats.decide and chat["authentication"] == "None":
                continue  # a visitor approves nothing: members of the project do
            function = make_function(
                where, f"agents/{chat['name']}.yaml", flow,
                frozenset({"auth", "headers", "params", "input"}), input=shape,
            )  # fmt: skip
            limit = chat["rate_limit"] if flow == chats.speak else None
            policy = Policy(
                method=method, path=where, endpoint=f"agents/{chat['name']}",
                max_body_bytes=MOST_BYTES, uploads=None, is_once=False,
                timeout_seconds=chat["timeout_seconds"] + _SPARE_SECONDS,
                active_requests=lasting.active_requests,
                limit=_limit(chat, lasting, answering) if limit else None,
                by_address=bool(limit and limit["by_address"]), counted=f"agents/{chat['name']}",
                cors=_cors(origins) if origins else None, authentication=chat["authentication"],
                channel="", middleware=(),
            )  # fmt: skip
            yield method, where, Pipeline(function, policy, answering)


def _limit(
    chat: Mapping[str, Any], lasting: Lasting, answering: Answering
) -> Limit:  # fmt: skip
    """Return the limit of a chat's messages; no channel has a name with a blank."""
    limit, clock = chat["rate_limit"], answering.host.clock
    return lasting.limit(f"agent {chat['name']}", limit["most"], clock, limit["seconds"])


def _cors(origins: list[tuple[str, bool]]) -> Cors:
    """Return a policy for the pages that any channel of the project lets ask."""
    return Cors({
        "origins": [origin for origin, _ in origins],
        "credentials": any(has_cookies for _, has_cookies in origins),
        "methods": [], "headers": [], "expose": [], "max_age": 600,
    })  # fmt: skip
