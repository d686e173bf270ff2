#!/usr/bin/env bash
# Install the bbops of these actions, so that the commit they are pinned to is the one that runs.
set -euo pipefail
repository=$(cd "$GITHUB_ACTION_PATH/../../.." && pwd)
folder=$RUNNER_TEMP/bbops
python=python3
command -v "$python" > /dev/null || python=python
# -I: Python must not import modules from the folder of the job, which is the checkout.
"$python" -I -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
  echo "::error title=Python::bbops needs Python 3.11 or later; add actions/setup-python before it"
  exit 2
}
"$python" -I -m venv "$folder"
programs=$folder/bin
[ -d "$programs" ] || programs=$folder/Scripts
BBOPS_ISLANDS=off "$programs/python" -I -m pip install --quiet --disable-pip-version-check \
  --constraint "$repository/constraints.txt" "$repository"
echo "$programs" >> "$GITHUB_PATH"
