"""A server with the tools, resources and prompts that the suite of the protocol asks for.

Which those are stands in the suite's descriptions of its scenarios.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Awaitable, Callable
from typing import Any

import mcp_types as types
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

Context = ServerRequestContext[Any, Any]
Result = types.CallToolResult | types.InputRequiredResult
Answers = dict[str, Any]
Run = Callable[[Context, types.CallToolRequestParams], Awaitable[Result]]

PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJg"
    "gg=="
)
WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
KEY = secrets.token_bytes(16)
RUNS: dict[str, Run] = {}


def tool(run: Run) -> Run:
    RUNS[f"test_{run.__name__}"] = run
    return run


def text(said: str) -> types.TextContent:
    return types.TextContent(text=said)


def said(*content: Any) -> types.CallToolResult:
    return types.CallToolResult(content=list(content))


def resource(uri: str, kind: str, words: str) -> types.EmbeddedResource:
    contents = types.TextResourceContents(uri=uri, mime_type=kind, text=words)
    return types.EmbeddedResource(resource=contents)


# ---- contents
@tool
async def simple_text(_: Context, __: Any) -> Result:
    return said(text("This is a simple text response for testing."))


@tool
async def image_content(_: Context, __: Any) -> Result:
    return said(types.ImageContent(data=PNG, mime_type="image/png"))


@tool
async def audio_content(_: Context, __: Any) -> Result:
    return said(types.AudioContent(data=WAV, mime_type="audio/wav"))


@tool
async def embedded_resource(_: Context, __: Any) -> Result:
    return said(resource("test://embedded-resource", "text/plain", "This is embedded."))


@tool
async def multiple_content_types(_: Context, __: Any) -> Result:
    mixed = resource("test://mixed-content-resource", "application/json", '{"test": "data"}')
    image = types.ImageContent(data=PNG, mime_type="image/png")
    return said(text("Multiple content types test:"), image, mixed)


@tool
async def error_handling(_: Context, __: Any) -> Result:
    wrong = text("This tool intentionally returns an error for testing")
    return types.CallToolResult(content=[wrong], is_error=True)


@tool
async def tool_with_progress(context: Context, _: Any) -> Result:
    for done in (0, 50, 100):
        await context.session.report_progress(done, 100, f"Completed step {done} of 100")
    return said(text("done"))


@tool
async def tool_with_logging(context: Context, _: Any) -> Result:
    for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await context.session.send_log_message("info", words)
    return said(text("logged"))


@tool
async def logging_tool(context: Context, asked: Any) -> Result:
    return await tool_with_logging(context, asked)


# ---- what is asked back
def elicit(message: str, **properties: str) -> dict[str, Any]:
    schema = {
        "type": "object", "required": list(properties),
        "properties": {name: {"type": kind} for name, kind in properties.items()},
    }  # fmt: skip
    params = {"mode": "form", "message": message, "requestedSchema": schema}
    return {"method": "elicitation/create", "params": params}


def sample(question: str, tokens: int) -> dict[str, Any]:
    content = {"type": "text", "text": question}
    params = {"messages": [{"role": "user", "content": content}], "maxTokens": tokens}
    return {"method": "sampling/createMessage", "params": params}


ROOTS: dict[str, Any] = {"method": "roots/list", "params": {}}
NAME = elicit("What is your name?", name="string")


def seal(state: str) -> str:
    return f"{state}.{hmac.new(KEY, state.encode(), hashlib.sha256).hexdigest()}"


def unseal(asked: Any) -> str:
    given = asked.request_state or ""
    state = given.rpartition(".")[0]
    if given and not hmac.compare_digest(seal(state), given):
        raise MCPError(types.INVALID_PARAMS, "the state is not the one that was given")
    return state


def answers(asked: Any) -> Answers:
    given = asked.input_responses or {}
    return {
        name: one if isinstance(one, dict) else one.model_dump(by_alias=True, exclude_none=True)
        for name, one in given.items()
    }


def require(context: Context, asked: dict[str, dict[str, Any]], state: str = "") -> Any:
    needed = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling",
              "roots/list": "roots"}  # fmt: skip
    may = context.session.client_capabilities
    granted = {
        k: v for k, v in asked.items() if getattr(may, needed[v["method"]], None) is not None
    }
    if not granted:
        lacking = {needed[one["method"]]: {} for one in asked.values()}
        raise MCPError(-32021, "the client cannot be asked", {"requiredCapabilities": lacking})
    return types.InputRequiredResult.model_validate(
        {"inputRequests": granted} | ({"requestState": seal(state)} if state else {})
    )


def field(given: Answers, key: str, name: str) -> Any:
    content = given.get(key, {}).get("content")
    return content.get(name) if isinstance(content, dict) else None


@tool
async def input_required_result_elicitation(context: Context, asked: Any) -> Result:
    name = field(answers(asked), "user_name", "name")
    return said(text(f"Hello, {name}!")) if name else require(context, {"user_name": NAME})


@tool
async def streaming_elicitation(context: Context, asked: Any) -> Result:
    await context.session.report_progress(0, 1, "about to ask")
    return await input_required_result_elicitation(context, asked)


@tool
async def input_required_result_capabilities(context: Context, asked: Any) -> Result:
    given = answers(asked)
    question = sample("What is the capital of France?", 100)
    return said(text("done")) if given else require(context, {"user_name": NAME, "q": question})


@tool
async def input_required_result_sampling(context: Context, asked: Any) -> Result:
    found = answers(asked).get("capital_question")
    question = sample("What is the capital of France?", 100)
    return said(text(str(found))) if found else require(context, {"capital_question": question})


@tool
async def input_required_result_list_roots(context: Context, asked: Any) -> Result:
    found = answers(asked).get("client_roots")
    return said(text(str(found))) if found else require(context, {"client_roots": ROOTS})


@tool
async def input_required_result_request_state(context: Context, asked: Any) -> Result:
    if unseal(asked) and "confirm" in answers(asked):
        return said(text("state-ok"))
    return require(context, {"confirm": elicit("Please confirm", ok="boolean")}, "confirm")


@tool
async def input_required_result_tampered_state(context: Context, asked: Any) -> Result:
    return await input_required_result_request_state(context, asked)


@tool
async def input_required_result_multiple_inputs(context: Context, asked: Any) -> Result:
    wanted = {"user_name": NAME, "greeting": sample("Generate a greeting", 50),
              "client_roots": ROOTS}  # fmt: skip
    if unseal(asked) and answers(asked).keys() >= wanted.keys():
        return said(text("all of them"))
    return require(context, wanted, "several")


@tool
async def input_required_result_multi_round(context: Context, asked: Any) -> Result:
    state, given = unseal(asked), answers(asked)
    if state == "two" and "step2" in given:
        return said(text("both"))
    if state == "one" and "step1" in given:
        color = elicit("Step 2: What is your favorite color?", color="string")
        return require(context, {"step2": color}, "two")
    return require(context, {"step1": elicit("Step 1: What is your name?", name="string")}, "one")


@tool
async def missing_capability(context: Context, _: Any) -> Result:
    return require(context, {"question": sample("?", 1)})


# ---- the server
async def list_tools(_: Context, __: Any) -> types.ListToolsResult:
    schema = {"type": "object"}
    found = [types.Tool(name=n, description="For the suite.", input_schema=schema) for n in RUNS]
    return types.ListToolsResult(tools=found)


async def call_tool(context: Context, asked: types.CallToolRequestParams) -> Result:
    if asked.name not in RUNS:
        raise MCPError(types.INVALID_PARAMS, f"there is no tool '{asked.name}'")
    return await RUNS[asked.name](context, asked)


STATIC = {"test://static-text": "text/plain", "test://static-binary": "image/png",
          "test://watched-resource": "text/plain"}  # fmt: skip


async def list_resources(_: Context, __: Any) -> types.ListResourcesResult:
    found = [types.Resource(uri=uri, name=uri, mime_type=kind) for uri, kind in STATIC.items()]
    return types.ListResourcesResult(resources=found)


async def list_templates(_: Context, __: Any) -> types.ListResourceTemplatesResult:
    one = types.ResourceTemplate(uri_template="test://template/{id}/data", name="template")
    return types.ListResourceTemplatesResult(resource_templates=[one])


async def read_resource(_: Context, asked: Any) -> types.ReadResourceResult:
    uri = str(asked.uri)
    if uri == "test://static-binary":
        blob = types.BlobResourceContents(uri=uri, mime_type="image/png", blob=PNG)
        return types.ReadResourceResult(contents=[blob])
    if uri not in STATIC and not uri.startswith("test://template/"):
        raise MCPError(types.INVALID_PARAMS, "there is no such resource", {"uri": uri})
    said_ = f'{{"uri": "{uri}", "id": "{uri.split("/")[-2]}"}}'
    found = types.TextResourceContents(uri=uri, mime_type="text/plain", text=said_)
    return types.ReadResourceResult(contents=[found])


PROMPTS = {
    "test_simple_prompt": (), "test_prompt_with_arguments": ("arg1", "arg2"),
    "test_prompt_with_embedded_resource": ("resourceUri",), "test_prompt_with_image": (),
    "test_input_required_result_prompt": (),
}  # fmt: skip


async def list_prompts(_: Context, __: Any) -> types.ListPromptsResult:
    found = [
        types.Prompt(
            name=name, description="For the suite.",
            arguments=[types.PromptArgument(name=one, required=True) for one in arguments],
        )
        for name, arguments in PROMPTS.items()
    ]  # fmt: skip
    return types.ListPromptsResult(prompts=found)


async def get_prompt(context: Context, asked: types.GetPromptRequestParams) -> Any:
    given = asked.arguments or {}
    content: Any = text(f"{asked.name} {given}")
    if asked.name.endswith("embedded_resource"):
        content = resource(given["resourceUri"], "text/plain", "Embedded resource content.")
    elif asked.name.endswith("image"):
        content = types.ImageContent(data=PNG, mime_type="image/png")
    elif asked.name.endswith("result_prompt") and "user_context" not in answers(asked):
        question = elicit("What context should the prompt use?", context="string")
        return require(context, {"user_context": question})
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=content)])


async def complete(_: Context, __: Any) -> types.CompleteResult:
    return types.CompleteResult(completion=types.Completion(values=[], total=0, has_more=False))


async def nod(_: Context, __: Any) -> types.EmptyResult:
    return types.EmptyResult()


def create() -> Server[Any]:
    """Return the server."""
    lists = ("tools/list", "resources/list", "resources/templates/list", "resources/read",
             "prompts/list", "server/discover")  # fmt: skip
    hint = CacheHint(ttl_ms=60_000, scope="public")
    server: Server[Any] = Server(
        "fixture", version="1", cache_hints=dict.fromkeys(lists, hint), on_list_tools=list_tools,
        on_call_tool=call_tool, on_list_resources=list_resources,
        on_list_resource_templates=list_templates, on_read_resource=read_resource,
        on_subscribe_resource=nod, on_unsubscribe_resource=nod, on_list_prompts=list_prompts,
        on_get_prompt=get_prompt, on_completion=complete,
    )  # fmt: skip
    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, nod)
    return server
