"""A stand-in of Stripe: takes the forms of its API, keeps them, and answers as it documents."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs

_NEEDED = {
    "customers": set[str](), "payment_intents": {"amount", "currency"},
    "subscriptions": {"customer", "items[0][price]"}, "refunds": {"charge"},
}  # fmt: skip


class StripeLike(ThreadingHTTPServer):
    """`asked` is what came; `refuses` makes it answer an error."""

    PREFIXES = {"customers": "cus_", "payment_intents": "pi_", "subscriptions": "sub_",
                "refunds": "re_"}  # fmt: skip
    daemon_threads = True

    def __init__(self, key: str) -> None:
        super().__init__(("127.0.0.1", 0), _Answering)
        self.key, self.asked = key, list[dict[str, str]]()
        self.refuses: tuple[int, str] | None = None
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()

    def answer(self, path: str, form: dict[str, str]) -> tuple[int, Any]:
        """Return a status and what is told."""
        kind = path.removeprefix("/v1/")
        if kind not in self.PREFIXES:
            return 404, _error(f"Unrecognized request URL (POST: {path}).")
        if lacking := sorted(_NEEDED[kind] - form.keys()):
            return 400, _error(f"Missing required param: {lacking[0]}.")
        number = f"{self.PREFIXES[kind]}{len(self.asked)}"
        told: dict[str, Any] = {"id": number, "object": kind[:-1], "livemode": False}
        if kind == "customers":
            return 200, told | {"email": form.get("email"), "name": form.get("name")}
        if kind == "subscriptions":
            item = {"id": "si_1", "price": {"id": form["items[0][price]"]}}
            items = {"object": "list", "data": [item], "has_more": False}
            more = {"status": "active", "customer": form["customer"], "items": items}
            return 200, told | more | {"latest_invoice": "in_1"}
        amount = {"amount": int(form.get("amount", "7")), "currency": form.get("currency", "eur")}
        if kind == "refunds":
            return 200, told | amount | {"status": "succeeded", "charge": form["charge"]}
        more = {"status": "requires_payment_method", "customer": form.get("customer")}
        return 200, told | amount | more | {"client_secret": f"{number}_secret_x"}


def _error(message: str) -> Any:
    return {"error": {"type": "invalid_request_error", "message": message}}


class _Answering(BaseHTTPRequestHandler):
    server: StripeLike

    def do_POST(self) -> None:
        """Answer one call."""
        body = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
        self.server.asked.append({
            "method": self.command, "path": self.path, "body": body,
            "type": self.headers["content-type"], "authorization": self.headers["authorization"],
        })  # fmt: skip
        if self.headers["authorization"] != f"Bearer {self.server.key}":
            self.tell(401, _error("Invalid API Key provided"))
        elif self.server.refuses:
            self.tell(self.server.refuses[0], _error(self.server.refuses[1]))
        else:
            form = {name: texts[0] for name, texts in parse_qs(body).items()}
            self.tell(*self.server.answer(self.path, form))

    def tell(self, status: int, told: Any) -> None:
        """Send an answer."""
        body = json.dumps(told).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""
