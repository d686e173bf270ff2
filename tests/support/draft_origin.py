"""Answers of drafts on an origin of their own."""

from __future__ import annotations

from tests.support.hostile_drafts import function

PLATFORM = {
    "Clear-Site-Data": '"*"',
    "Strict-Transport-Security": "max-age=31536000; includeSubDomains",
    "NEL": '{"report_to":"all","max_age":600}',
    "Report-To": '{"group":"all","max_age":600,"endpoints":[{"url":"https://evil.example"}]}',
    "Reporting-Endpoints": 'all="https://evil.example/"',
    "Alt-Svc": 'h2="evil.example:443"',
    "Refresh": "0; url=https://evil.example/",
    "Service-Worker-Allowed": "/",
    "Origin-Agent-Cluster": "?1",
    "SourceMap": "/secret.map",
    "X-SourceMap": "/secret.map",
    "Link": "</notes>; rel=preload; as=fetch",
    "Accept-CH": "Sec-CH-UA-Model",
    "Critical-CH": "Sec-CH-UA-Model",
    "Content-Security-Policy": "sandbox allow-same-origin allow-scripts",
    "Content-Security-Policy-Report-Only": "default-src 'none'",
    "Cross-Origin-Opener-Policy": "unsafe-none",
    "Cross-Origin-Resource-Policy": "cross-origin",
    "Permissions-Policy": "camera=*",
    "Referrer-Policy": "unsafe-url",
    "Set-Login": "logged-out",
    "Speculation-Rules": '"/rules.json"',
    "Timing-Allow-Origin": "*",
    "X-Accel-Redirect": "/internal",
    "X-Sendfile": "/etc/passwd",
    "X-DNS-Prefetch-Control": "on",
    "Proxy-Authenticate": "Basic",
    "WWW-Authenticate": 'Basic realm="the shop"',
    "Expect-CT": "max-age=1",
    "Public-Key-Pins": "max-age=1",
}
"""What a server can tell a browser, or a proxy, about more than the one answer."""


TYPES = {
    "svg": "image/svg+xml", "xml": "application/xml", "html": "text/html",
    "js": "text/javascript", "text": "text/plain", "pdf": "application/pdf",
}  # fmt: skip


def answering(name: str, kind: str, status: int = 200) -> dict[str, str]:
    headers = "".join(f"        {key}: {value!r}\n" for key, value in PLATFORM.items())
    steps = (
        f"steps:\n  - return:\n      status: {status}\n      value: hello\n"
        f"      contentType: {kind}\n      headers:\n{headers}"
        "        set-cookie: 'session=stolen; Path=/; Domain=localhost'\n"
        "        cache-control: no-store\n"
    )
    return function(steps, name=name)
