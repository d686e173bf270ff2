"""Ask a chat model one question, in the shape of the step `chatModel.createMessage`."""

from __future__ import annotations

from typing import Any

import httpx
import msgspec

from bbops.base.addresses import check_address, is_here
from bbops.base.errors import ServerError
from bbops.interfaces.client.project_api import reason_of

TIMEOUT_SECONDS = 60.0
MAX_ANSWER_BYTES = 256 << 10
MAX_TOKENS = 200
"""Of one answer."""
_VERSION = {"anthropic-version": "2023-06-01"}
"""Of the shape of requests and answers; the vendor refuses those without."""


class Chat:
    """One model of one vendor. Close it after use."""

    def __init__(self, url: str, key: str, model: str) -> None:
        """Raises: ServerError: this is no address or no key, or it would be sent without https."""
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

    def ask(self, system: str, question: str) -> str:
        """Return the text of the answer.

        Raises:
            ServerError: nobody answers there, or not in this shape.
        """
        body = {
            "model": self._model, "max_tokens": MAX_TOKENS, "system": system,
            "messages": [{"role": "user", "content": question}],
        }  # fmt: skip
        try:
            with self._client.stream("POST", f"{self._url}/v1/messages", json=body) as answer:
                data = self._read(answer)
        except httpx.HTTPError as error:
            why = reason_of(error) if isinstance(error, httpx.TransportError) else "a bad answer"
            raise ServerError(f"cannot ask the model at '{self._url}': {why}") from None
        return self._find_text(data)

    def _read(self, answer: httpx.Response) -> bytes:
        if answer.status_code != httpx.codes.OK:
            hint = _CURES.get(answer.status_code, "try again later")
            raise ServerError(
                f"the model at '{self._url}' answered {answer.status_code}", hint=hint
            )
        data = bytearray()
        for piece in answer.iter_bytes():
            data += piece
            if len(data) > MAX_ANSWER_BYTES:
                raise ServerError(
                    f"the model at '{self._url}' answered more than {MAX_ANSWER_BYTES:,} bytes"
                )
        return bytes(data)

    def _find_text(self, data: bytes) -> str:
        try:
            parts: list[Any] = msgspec.json.decode(data)["content"]
            texts = [one["text"] for one in parts if one["type"] == "text"]
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, KeyError, TypeError):
            texts = []
        if not texts or not all(type(one) is str for one in texts):
            raise ServerError(
                f"what the model at '{self._url}' answered is not a message",
                hint="BBOPS_MODEL_URL must be the URL up to '/v1/messages'",
            )
        return "".join(texts)


_CURES = {
    401: "check BBOPS_MODEL_KEY",
    403: "check whether BBOPS_MODEL_KEY may use the model",
    404: "check BBOPS_MODEL and BBOPS_MODEL_URL",
}
