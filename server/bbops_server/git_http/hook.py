"""The hook of a push: asks the server, prints its answer, and exits accordingly.

It imports nothing else of bbops: it starts twice a push, and the start takes most of its time.
`_socket` starts in half of the time of `socket`.
"""

from __future__ import annotations

import _socket
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

LATE_SECONDS = 180.0
_CHUNK = 1 << 16


def ask(hook: str, options: list[str], given: bytes, tell: Callable[[bytes], object]) -> bool:
    """Return whether the server says yes; anything but a yes at the end is none."""
    head = [os.environ["BBOPS_PUSH"], hook, os.environ.get("GIT_QUARANTINE_PATH", ""), *options]
    server = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    server.settimeout(LATE_SECONDS)
    server.connect(os.environ["BBOPS_SOCKET"])
    server.sendall("\0".join(head).replace("\n", " ").encode() + b"\n" + given)
    server.shutdown(_socket.SHUT_WR)
    is_yes = False
    while chunk := server.recv(_CHUNK):
        is_yes = chunk.endswith(b"\0")
        tell(chunk.rstrip(b"\0"))
    return is_yes


def say(text: bytes) -> None:
    """Print in the terminal of the pusher."""
    os.write(2, text)


def receive() -> bool:
    """Let the server handle a push to `refs/for`, and report the result to git.

    Source: githooks(5), proc-receive.
    """
    version = read_packets()
    write_packets([b"version=1\0push-options"])
    commands = read_packets()
    options = read_packets() if any(b"push-options" in line for line in version) else []
    report: list[bytes] = []
    is_yes = ask(
        "proc-receive", [one.decode(errors="replace") for one in options],
        b"".join(line + b"\n" for line in commands), report.append,
    )  # fmt: skip
    write_packets(b"".join(report).splitlines())
    return is_yes


def read_packets() -> list[bytes]:
    """Return the lines up to the next flush: gitprotocol-common(5), pkt-line."""
    found = []
    while size := int(sys.stdin.buffer.read(4) or b"0", 16):
        found.append(sys.stdin.buffer.read(size - 4).rstrip(b"\n"))
    return found


def write_packets(lines: list[bytes]) -> None:
    """Write lines and a flush."""
    data = b"".join(b"%04x%s\n" % (len(line) + 5, line) for line in lines)
    sys.stdout.buffer.write(data + b"0000")
    sys.stdout.buffer.flush()


def run(hook: str) -> bool:
    """Do the work of one hook."""
    if hook == "proc-receive":
        return receive()
    count = int(os.environ.get("GIT_PUSH_OPTION_COUNT") or 0)
    options = [os.environ.get(f"GIT_PUSH_OPTION_{number}", "") for number in range(count)]
    return ask(hook, options, sys.stdin.buffer.read(), say)


if __name__ == "__main__":
    try:
        sys.exit(0 if run(sys.argv[1]) else 1)
    except (OSError, KeyError, ValueError):
        os.write(2, b"the server cannot be asked; nothing was changed, try again\n")
        sys.exit(1)
