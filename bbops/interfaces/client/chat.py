"""A client for a chat model, with the requests of the step `chatModel.createMessage`."""

from __future__ import annotations

from typing import Any

import httpx
import msgspec

from bbops.base.addresses import check_address, is_here
from bbops.base.errors import ServerError
from bbops.interfaces.client.connection import reason_of

TIMEOUT_SECONDS = 60.0
MAX_ANSWER_BYTES = 256 << 10
MAX_TOKENS = 200
"""The length limit of a response."""
_VERSION = {"anthropic-version": "2023-06-01"}
"""The version of the API; the vendor rejects requests without it."""


class ChatClient:
    """A client for a model of a vendor. Close it after use."""

    def __init__(self, url: str, key: str, model: str) -> None:
        """Raises: ServerError: the URL or key is not valid, or the key needs https."""
        self._url, self._model = check_address(url), model
        if "@" in self._url:
            raise ServerError(
                "the URL of the model contains a password", hint="put the key into BBOPS_MODEL_KEY"
            )
        if not (key.isascii() and key.isprintable()) or " " in key:
            raise ServerError(
                "BBOPS_MODEL_KEY is not a valid key: it contains spaces or characters "
                "that keys cannot have"
            )
        if self._url.startswith("http:") and not is_here(self._url):
            raise ServerError(
                f"a key is not sent to '{self._url}' without https", hint="use its https address"
            )
        self._client = httpx.Client(
            timeout=TIMEOUT_SECONDS, trust_env=not is_here(self._url),
            headers={"x-api-key": key, **_VERSION},
        )  # fmt: skip

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def ask(self, system: str, prompt: str) -> str:
        """Return the model's response as text.

        Raises:
            ServerError: the model does not respond, or not with a message.
        """
        body = {
            "model": self._model, "max_tokens": MAX_TOKENS, "system": system,
            "messages": [{"role": "user", "content": prompt}],
        }  # fmt: skip
        try:
            with self._client.stream("POST", f"{self._url}/v1/messages", json=body) as response:
                data = self._read(response)
        except httpx.HTTPError as error:
            reason = reason_of(error) if isinstance(error, httpx.TransportError) else "a bad answer"
            raise ServerError(f"cannot ask the model at '{self._url}': {reason}") from None
        return self._find_text(data)

    def _read(self, response: httpx.Response) -> bytes:
        if response.status_code != httpx.codes.OK:
            hint = _HINTS.get(response.status_code, "try again later")
            raise ServerError(
                f"the model at '{self._url}' answered {response.status_code}", hint=hint
            )
        data = bytearray()
        for piece in response.iter_bytes():
            data += piece
            if len(data) > MAX_ANSWER_BYTES:
                raise ServerError(
                    f"the model at '{self._url}' answered more than {MAX_ANSWER_BYTES:,} bytes"
                )
        return bytes(data)

    def _find_text(self, data: bytes) -> str:
        try:
            parts: list[Any] = msgspec.json.decode(data)["content"]
            texts = [part["text"] for part in parts if part["type"] == "text"]
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, KeyError, TypeError):
            texts = []
        if not texts or not all(type(text) is str for text in texts):
            raise ServerError(
                f"the response of the model at '{self._url}' is not a message",
                hint="BBOPS_MODEL_URL must be the URL up to '/v1/messages'",
            )
        return "".join(texts)


_HINTS = {
    401: "check BBOPS_MODEL_KEY",
    403: "check whether BBOPS_MODEL_KEY may use the model",
    404: "check BBOPS_MODEL and BBOPS_MODEL_URL",
}
