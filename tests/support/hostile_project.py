"""A project whose every text attacks the pages that show it."""

from __future__ import annotations

import json
from typing import Final

LONG: Final = "W" * 2_000
"""A word that no line has room for."""
PAYLOAD: Final = (
    "<img src=x onerror=window.hacked=1><script>window.hacked=1</script>"
    "{{7*7}}${7*7} javascript:alert(1) \u202egnp.exe\u202c \"'><svg/onload=alert(1)>"
)
TEXT: Final = json.dumps(f"{PAYLOAD} {LONG}")
"""The payload as a YAML scalar."""
BRANCH: Final = "x<img-src=x-onerror=alert(1)>"
AUTHOR: Final = f"Ada {PAYLOAD}".replace("<", "\u2039").replace(">", "\u203a")
"""A git author; git itself removes angle brackets."""

FILES: Final = {
    "project.yaml": (
        f"bbops: 1\nname: hostile\ndescription: {TEXT}\n"
        f"env:\n  KEY: {{ secret: true, generate: true, description: {TEXT} }}\n"
        f"  GREETING: {{ default: {TEXT}, description: {TEXT} }}\n"
        "auth: { users: users, signingKey: '${ env.KEY }' }\n"
    ),
    "tables/users.yaml": (
        f"description: {TEXT}\ncolumns:\n"
        "  id: { type: integer, primaryKey: true, auto: increment }\n"
        "  email: { type: string, unique: true }\n"
        f"  name: {{ type: text, default: {TEXT} }}\n"
        f"seed:\n  - {{ id: 1, email: ada@example.com, name: {TEXT} }}\n"
    ),
    "channels/v1.yaml": (f'name: {TEXT[:90]}"\nbasePath: /v1\nauthentication: None\n'),
    "functions/list.yaml": (
        f"description: {TEXT}\n"
        f"query: {{ word?: {{ type: string, description: {TEXT} }} }}\nsteps:\n"
        f"  - name: {TEXT}\n    find: {{ table: users }}\n    as: users\n"
        f"  - log: {{ message: {TEXT} }}\n"
        f"  - return: {{ value: {{ users: '${{ vars.users }}', text: {TEXT} }} }}\n"
    ),
    "functions/fails.yaml": (
        f"description: {TEXT}\nsteps:\n  - throw: {{ status: 500, message: {TEXT} }}\n"
    ),
    "functions/nightly.yaml": f"description: {TEXT}\nsteps:\n  - log: {{ message: {TEXT} }}\n",
    "endpoints/list.yaml": (
        f"channel: v1\nmethod: GET\npath: /list\nfunction: list\ndescription: {TEXT}\n"
    ),
    "endpoints/fails.yaml": (
        f"channel: v1\nmethod: POST\npath: /fails\nfunction: fails\ndescription: {TEXT}\n"
        "history: full\n"
    ),
    "tasks/nightly.yaml": f"description: {TEXT}\nevery: 1d\nfunction: nightly\n",
    "realtime/news.yaml": (
        f"topic: news\nauthentication: None\ndescription: {TEXT}\n"
        "events:\n  said: { text: string }\n"
    ),
    "tests/list.yaml": (
        f'endpoint: list\ncases:\n  - name: {TEXT[:190]}"\n    expect: {{ status: 200 }}\n'
    ),
    "docs/first.md": f"# {PAYLOAD}\n\n[link](javascript:alert(1)) {PAYLOAD}\n",
}
