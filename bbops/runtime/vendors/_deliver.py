"""Give mails to a server over SMTP: at an address that was checked, and never without TLS.

The standard library speaks it, in a thread: it blocks, and what it reads has no bounds of its own.
"""

from __future__ import annotations

import asyncio
import re
import smtplib
import socket
import ssl
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Final

from bbops.base.host import MailRequest
from bbops.runtime.values.failures import HttpFailure

MOST_AT_ONCE: Final = 10
"""Of a process; others wait, and no other work does."""
MOST_REPLY_BYTES: Final = 100_000
_MOST_WORDS: Final = 300
_ENHANCED: Final = re.compile(r"([245]\.\d{1,3}\.\d{1,3})\b").match
_THREADS: Final = ThreadPoolExecutor(MOST_AT_ONCE, "mail")


class _Endless(OSError):
    """A server says more than anybody would listen to."""


class _Lines:
    """What a server says, to an end."""

    def __init__(self, file: Any) -> None:
        self._file, self._left = file, MOST_REPLY_BYTES

    def readline(self, most: int) -> bytes:
        """Return the next line."""
        line: bytes = self._file.readline(most)
        self._left -= len(line)
        if self._left < 0:
            raise _Endless
        return line

    def close(self) -> None:
        """Close it."""
        self._file.close()


class _Client(smtplib.SMTP):
    """Connects to the very addresses that were checked; `is_sent` once a mail may be taken."""

    def __init__(self, request: MailRequest, addresses: Sequence[str]) -> None:
        # its own name would be looked up, and tell of this machine
        super().__init__(timeout=request.timeout_seconds, local_hostname=_domain(request.sender))
        self.request, self.addresses = request, addresses
        self.is_sent, self.taken = False, 0
        self.context = ssl.create_default_context(cadata=request.authority or None)

    def _get_socket(self, host: str, port: int, timeout: Any) -> socket.socket:
        error: OSError = OSError("no address")
        for address in self.addresses:
            try:
                found = socket.create_connection((address, port), timeout)
            except OSError as failure:
                error = failure
                continue
            if not self.request.is_tls:
                return found
            return self.context.wrap_socket(found, server_hostname=host)
        raise error

    def getreply(self) -> tuple[int, bytes]:
        """Return the next reply, which has an end."""
        if self.file is None:
            assert self.sock is not None  # noqa: S101 - it is connected
            self.file = _Lines(self.sock.makefile("rb"))
        return super().getreply()

    def data(self, msg: Any) -> tuple[int, bytes]:
        """Send a mail; from here on it may be taken."""
        self.is_sent = True
        return super().data(msg)

    def send_all(self) -> list[str]:
        """Send the mails, or only sign in without any; return the recipients that were refused."""
        request, refused = self.request, set[str]()
        self.connect(request.host, request.port)
        if not request.is_tls:
            self._host = request.host  # whose certificate it must be
            self.ehlo()
            code, _ = self.starttls(context=self.context)
            if code != 220:
                raise smtplib.SMTPNotSupportedError
        self.ehlo()
        if request.user is not None and request.password is not None:
            self.login(request.user, request.password)
        for recipients, mail in request.mails:
            try:
                refused |= self.sendmail(request.sender, recipients, mail).keys()
                self.taken += 1
            except smtplib.SMTPRecipientsRefused as failure:
                refused |= failure.recipients.keys()
                if len(request.mails) == 1:
                    raise
        every = {one for recipients, _ in request.mails for one in recipients}
        if every and refused >= every:
            raise smtplib.SMTPResponseException(550, b"all recipients were refused")
        with suppress(smtplib.SMTPException, OSError):
            self.quit()
        return sorted(refused)

    def end(self) -> None:
        """Close the connection, whatever waits for it."""
        with suppress(OSError):
            if self.sock is not None:
                self.sock.shutdown(socket.SHUT_RDWR)
        with suppress(OSError):
            self.close()


async def deliver(request: MailRequest, addresses: Sequence[str]) -> Sequence[str]:
    """Give mails to a server; return the recipients that it refused.

    Args:
        request: the mails, and the server.
        addresses: those of the server's name that may be connected to.

    Raises:
        HttpFailure: it took nothing, or not all of them.
    """
    host = request.host
    try:
        client = _Client(request, addresses)
    except (ssl.SSLError, ValueError):
        raise HttpFailure("httpInvalid", "'caCertificate' is no certificate in PEM") from None
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(request.timeout_seconds):
            return await loop.run_in_executor(_THREADS, client.send_all)
    except TimeoutError:
        message = f"'{host}' did not answer in time"
        raise HttpFailure("httpTimeout", message, is_sent=client.is_sent, repeats=False) from None
    except smtplib.SMTPNotSupportedError:
        raise HttpFailure("httpInvalid", f"'{host}' offers no TLS, or no login") from None
    except smtplib.SMTPRecipientsRefused as failure:
        code, words = next(iter(failure.recipients.values()))
        raise _answered(client, code, words) from None
    except smtplib.SMTPResponseException as failure:
        raise _answered(client, failure.smtp_code, failure.smtp_error) from None
    except ssl.SSLCertVerificationError as failure:
        message = f"'{host}' has no certificate that is trusted: {failure.verify_message}"
        raise HttpFailure("httpUnreachable", message, repeats=False, passes=False) from None
    except (smtplib.SMTPException, OSError, ValueError):
        message = f"'{host}' cannot be reached, or does not speak SMTP"
        raise HttpFailure(
            "httpUnreachable", message, is_sent=client.is_sent, repeats=False
        ) from None
    finally:
        client.end()  # a thread that is late ends by that


def _answered(client: _Client, code: int, words: bytes | str) -> HttpFailure:
    text = words.decode("utf-8", "replace") if isinstance(words, bytes) else str(words)
    said = " ".join("".join(one if one.isprintable() else " " for one in text).split())
    reason = _ENHANCED(said)
    return HttpFailure(
        "httpFailed", f"'{client.request.host}' answered {code}: {said[:_MOST_WORDS]}",
        answered=code, reason=reason[1] if reason else None, repeats=False,
        passes=400 <= code <= 499 and not client.taken,
    )  # fmt: skip


def _domain(sender: str) -> str:
    return sender.rpartition("@")[2] or "localhost"
