"""Files that use what no other project of ours has, so that each key is read by somebody."""

from __future__ import annotations

from tests.conftest import BOARD

MORE = {
    "functions/run.yaml": """
steps:
  - http: { method: POST, url: "https://forms.example.com/", form: { a: b } }
  - return: { value: "${ input.file.size }" }
""",
    "endpoints/run.yaml": """
method: POST
path: /run
function: run
authentication: None
description: Takes a file.
files: { file: { maxSize: 1MB } }
""",
    "tests/run.yaml": """
endpoint: run
cases:
  - name: a text
    files: { file: { name: a.txt, text: hello } }
    mocks: { http: {} }
    expect: { status: 200 }
  - name: bytes
    files: { file: { name: a.bin, base64: aGk= } }
    mocks: { http: {} }
    expect: { status: 200 }
""",
    "triggers/changed.yaml": """
database: { table: notes, operation: update }
lane: { key: newRow.id, limit: 2 }
priority: low
timeout: 1m
unique: { key: newRow.id, for: 1h }
onDead: failed
renamedFrom: was
function: changed
""",
    "triggers/settled.yaml": """
database: { table: notes, operation: update }
debounce: { key: newRow.id, for: 1s }
function: changed
""",
    "tasks/given.yaml": """
every: 1h
jitter: 1m
input: { number: 1 }
onDead: failed
renamedFrom: before
function: later
""",
    "functions/failed.yaml": """
payload: { job: string }
steps:
  - log: { message: "${ event.payload.job }" }
""",
    "functions/later.yaml": """
input: { number: integer }
job:
  { lane: { key: input.number }, priority: low, timeout: 1m, retry: { attempts: 2 },
    onDead: failed }
steps:
  - wait: { for: 1s }
  - log: { message: "${ input.number }" }
""",
    "functions/stream.yaml": """
steps:
  - return:
      stream: { aiModel.chatCompletion: { model: m, messages: [] } }
""",
    "endpoints/stream.yaml": """
method: POST
path: /stream
function: stream
authentication: None
description: Sends what a model gives.
""",
    "tests/stream.yaml": """
endpoint: stream
cases:
  - name: sent
    mocks: { aiModel.chatCompletion: { pieces: [a], result: { id: a, model: m, created: 1 } } }
    expect: { check: "result | length == 2" }
""",
    "functions/enqueue.yaml": """
steps:
  - enqueue: { function: later, input: { number: 1 }, delay: 1s, unique: a }
    as: job
  - cancel: { job: "${ vars.job.id }" }
  - jobStatus: { job: "${ vars.job.id }" }
    as: status
  - return: { value: "${ vars.status }" }
""",
    "tests/enqueue.yaml": """
function: enqueue
cases:
  - name: made
    expect: { jobs: [] }
  - name: cancelled
    expect: { jobs: [{ function: later, input: { number: 1 } }] }
""",
    "triggers/told.yaml": """
event: note.told
function: told
""",
    "realtime/board.yaml": BOARD,
    "functions/told.yaml": """
payload: { id: integer }
steps:
  - log: { message: "${ event.payload.id }" }
""",
    "tests/told.yaml": """
trigger: told
cases:
  - name: told
    at: 2026-03-29T02:30:00Z
    event: { payload: { id: 1 } }
    work: run
    crash: each
    events: [{ event: note.told, payload: { id: 2 }, after: 1h }]
    expect: { dead: [] }
""",
    "tests/given.yaml": """
task: given
cases:
  - name: given
    expect:
      published: [{ realtime: board, event: note.added, params: { id: a }, payload: { id: 1 } }]
""",
    "channels/machines.yaml": "name: Machines\nbasePath: /machines\nauthentication: API Key\n",
    "functions/who.yaml": "steps: [{ return: { value: '${ vars.apiKey }' } }]\n",
    "endpoints/who.yaml": """
channel: machines
method: GET
path: /who
function: who
description: The caller.
""",
    "tests/who.yaml": """
endpoint: who
cases:
  - name: known
    apiKey: { id: key-1, name: Partner, claims: { tier: gold } }
    expect: { value: { id: key-1, name: Partner, claims: { tier: gold } } }
""",
    "functions/changed.yaml": """
steps:
  - log: { message: "${ trigger.newRow.title } was ${ trigger.oldRow.title }" }
""",
    "tests/changed.yaml": """
function: changed
cases:
  - name: told
    trigger:
      newRow: { id: 1, title: a, done: true }
      oldRow: { id: 1, title: b, done: true }
    expect: { status: 200 }
""",
}
"""What no other project of ours has."""
