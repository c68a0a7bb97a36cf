#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Without root the running kernel is measured all the same, and each cell is marked as measured
# without the clean room.
set -eu
[ "$(id -u)" -eq 0 ] || { echo "only root can become somebody else"; exit 77; }
BUILD=$(realpath "${BUILD:-$(dirname "$0")/../../build}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Nobody may be kept from the build tree.
cp "${MKSPLIT:-$BUILD/harness/mksplit}" "${MKSPLIT_BENCH:-$BUILD/bench/mksplit-bench}" "$work"
mkdir "$work/state"
chmod 755 "$work"
chown -R 65534:65534 "$work"
cd "$work"
unset MKSPLIT_BENCH XDG_RUNTIME_DIR
MKSPLIT_STATE_DIR=$work/state setpriv --reuid=65534 --regid=65534 --clear-groups ./mksplit sweep unlink1 \
	-t 1 -s 2 --interval 200ms --warmup 100ms --ignore idle --ignore guests -o r >out 2>&1 || { cat out; exit 1; }
python3 - <<'PYTHON'
import json
cells = [e for e in map(json.loads, open("r/events.jsonl")) if e["event"] == "cell"]
assert cells and all(c["metrics"][0]["value"] > 0 for c in cells if c["status"] == "flagged"), cells
assert any(f["name"] == "clean-room" for f in cells[-1]["flags"]), cells[-1]
PYTHON
