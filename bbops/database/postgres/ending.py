"""Let PostgreSQL end a statement soon after the process that asked for it is gone.

By itself a backend looks at its connection only between statements: one that works for an hour
does so for nobody, and keeps its locks.
"""

from __future__ import annotations

from typing import Final

CHECK_SECONDS: Final = 1
"""How often a busy backend looks whether its client is there."""

END_WITH_CLIENT: Final = f"""
SELECT set_config(name, value, false) FROM (VALUES
  ('client_connection_check_interval', '{CHECK_SECONDS}s'),
  ('tcp_keepalives_idle', '30'), ('tcp_keepalives_interval', '10'), ('tcp_keepalives_count', '3')
) AS setting (name, value)
WHERE name LIKE 'tcp%' OR version() LIKE '%linux%'
"""
"""Run once on each connection. The keepalives find a machine that went away without a word.

Source: PostgreSQL, "Connection Settings": the check works where the kernel reports a closed socket.
"""
