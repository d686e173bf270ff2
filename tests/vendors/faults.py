"""What may go wrong at a vendor, and what a step makes of it: one table for every step."""

from __future__ import annotations

from dataclasses import dataclass

from tests.vendors.stand_in import Answer


@dataclass(frozen=True, slots=True)
class Fault:
    """An answer, and what comes of it.

    Attributes:
        code: what the step fails with.
        asked: how often a step is asked that may be done twice, and one that may not.
    """

    answer: Answer
    code: str
    asked: tuple[int, int]


HTML = "<html><body>Bad gateway</body></html>"
FAULTS: dict[str, Fault] = {
    "401": Fault(Answer(401, {}), "httpFailed 401", (1, 1)),
    "403": Fault(Answer(403, {}), "httpFailed 403", (1, 1)),
    "404": Fault(Answer(404, {}), "httpFailed 404", (1, 1)),
    "409": Fault(Answer(409, {}), "httpFailed 409", (1, 1)),
    "422": Fault(Answer(422, {}), "httpFailed 422", (1, 1)),
    "429": Fault(Answer(429, {}), "httpFailed 429", (3, 3)),
    "429 in a while": Fault(Answer(429, {}, {"retry-after": "0"}), "httpFailed 429", (3, 3)),
    "429 in an hour": Fault(Answer(429, {}, {"retry-after": "3600"}), "httpFailed 429", (1, 1)),
    "500": Fault(Answer(500, {}), "httpFailed 500", (3, 1)),
    "503": Fault(Answer(503, {}), "httpFailed 503", (3, 3)),
    "529": Fault(Answer(529, {}), "httpFailed 529", (3, 3)),
    "HTML with 200": Fault(Answer(200, HTML), "addon-answer 500", (1, 1)),
    "HTML with 502": Fault(Answer(502, HTML), "httpFailed 502", (3, 1)),
    "cut": Fault(Answer(200, {"id": "x" * 100}, breaks="cut"), "httpUnreachable 500", (3, 1)),
    "reset": Fault(Answer(breaks="reset"), "httpUnreachable 500", (3, 1)),
    "silent": Fault(Answer(breaks="silent"), "timeout 500", (3, 1)),
    "moved": Fault(Answer(308, {}, {"location": "/elsewhere?key=x"}), "httpFailed 308", (1, 1)),
    "moved away": Fault(
        Answer(302, {}, {"location": "http://localhost:1/x?key=x"}), "httpFailed 302", (1, 1)
    ),
}
