"""Shell commands to copy: a request by curl, and a commit in a clone."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote, urlencode

from bbops.runtime.flow.masking import MASK
from bbops.runtime.http.exchanges import MOST_KEPT, TOO_LONG

_END = "PATCH"


def write_patch_command(branch: str, base: str, patch: str, message: str) -> str:
    """Return a shell command that creates a branch with a patch as its commit.

    It can be pasted in any folder of a clone. Apart from the patch itself, no text is interpreted
    by the shell.

    Args:
        branch: the new branch.
        base: the commit that the patch builds on.
        patch: a diff as `git diff` prints it, with paths from the repository's root.
        message: the commit message.
    """
    end, lines = _END, set(patch.splitlines())
    while end in lines:
        end += "_"
    body = patch if patch.endswith("\n") else f"{patch}\n"
    return (
        f"git switch --create {shlex.quote(branch)} {base} &&\n"
        f"git -C \"$(git rev-parse --show-toplevel)\" apply --index <<'{end}' &&\n"
        f"{body}{end}\n"
        f"git commit --message={shlex.quote(message)}\n"
    )


# ---- A recorded request as a curl command, and the parts that the history does not have

_OF_CONNECTION: Final = frozenset({
    "accept-encoding", "connection", "content-length", "forwarded", "host", "transfer-encoding",
    "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto",
})  # fmt: skip
"""Headers that curl or a proxy writes."""
_SAFE_IN_PATHS: Final = "/*:@!$&'()+,;=~"


def write_curl(request: Mapping[str, Any], url: str) -> str:
    """Return a request as a command for POSIX shells, with its secrets masked as recorded."""
    exchange = request["exchange"] or {}
    pairs = exchange.get("query", ())
    query = f"?{urlencode([tuple(pair) for pair in pairs], safe='*')}" if pairs else ""
    method = "" if request["method"] in {"GET", "HEAD"} else f"-X {shlex.quote(request['method'])} "
    head = "-I " if request["method"] == "HEAD" else ""
    path = quote(request["path"], safe=_SAFE_IN_PATHS)  # curl expands brackets and braces
    target = shlex.quote(url.rstrip("/") + path + query)
    return " \\\n  ".join([f"curl {head}{method}{target}", *_options(exchange)])


def find_gaps(request: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence for each part of a request that its command does not have."""
    exchange, size = request["exchange"], request["bytes_in"]
    if not exchange:
        body = f"the body of {size:,} bytes, " if size else ""
        yield f"Not recorded, so not in the command: {body}query and headers."
        return
    body = exchange.get("input", "")
    length = exchange.get("headers", {}).get("content-length", "")
    if body == TOO_LONG:
        yield "The body is not recorded: it is not a text, or is too long."
    elif _is_cut(body):
        yield f"Only the first {MOST_KEPT:,} characters of the body are recorded."
    elif not body and length.strip("0"):
        yield f"The request was answered before its body of {length} bytes was read."
    if MASK in str(exchange):
        yield f"'{MASK}' stands for a secret, which is not recorded."


def _is_cut(body: str) -> bool:
    return len(body) > MOST_KEPT and body.endswith(TOO_LONG)


def _options(exchange: Mapping[str, Any]) -> Iterator[str]:
    for name, value in exchange.get("headers", {}).items():
        if name not in _OF_CONNECTION:
            yield f"-H {shlex.quote(f'{name}: {value}')}"
    body = exchange.get("input", "")
    if body and body != TOO_LONG:
        yield f"--data-raw {shlex.quote(body.removesuffix(TOO_LONG) if _is_cut(body) else body)}"
