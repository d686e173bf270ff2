"""Let PostgreSQL end a statement soon after its client process is gone.

By default a backend checks its connection only between statements: a long statement without a
client continues, and keeps its locks.
"""

from __future__ import annotations

from typing import Final

CHECK_SECONDS: Final = 1
"""The interval at which a busy backend checks its client."""

END_WITH_CLIENT: Final = f"""
SELECT set_config(name, value, false) FROM (VALUES
  ('client_connection_check_interval', '{CHECK_SECONDS}s'),
  ('tcp_keepalives_idle', '30'), ('tcp_keepalives_interval', '10'), ('tcp_keepalives_count', '3')
) AS setting (name, value)
WHERE name LIKE 'tcp%' OR version() LIKE '%linux%'
"""
"""Run once on each connection. The keepalives detect a machine that vanished silently.

Source: PostgreSQL, "Connection Settings": the check works where the kernel reports a closed socket.
"""
