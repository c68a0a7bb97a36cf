#!/bin/bash
# The main job on real kernels: two arms of guests, every cell measured on the CPUs that the plan
# means, the same ones in both arms, a report that says what emulated CPUs are worth, and nothing
# left of it.
set -eu
repo=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
export MKSPLIT_STATE_DIR=$work/state
trap 'rm -rf "$work"' EXIT
cd "$work"

# Windows of a quick run are so short that a busy machine can leave a task none of one: such a
# cell fails, and is measured when the run goes on.
"$MKSPLIT" run "$repo/configs/plans/demo.json" --quick --ignore idle --output "$work/r" >report.txt 2>log.txt ||
	"$MKSPLIT" run --resume "$work/r" --ignore idle >report.txt 2>>log.txt ||
	{ cat log.txt report.txt; exit 1; }
cat log.txt report.txt

python3 - "$work/r/events.jsonl" <<'PYTHON'
import json, sys

events = [json.loads(line) for line in open(sys.argv[1])]
# The last attempt at a cell counts.
cells = list({e["key"]: e for e in events if e["event"] == "cell"}.values())
run = events[0]
assert len(cells) == run["cells"], (len(cells), run["cells"])
assert {c["arm"] for c in cells} == {"single", "split"}
placed = {}
for cell in cells:
    assert cell["status"] in ("ok", "flagged"), cell
    metric = cell["metrics"][0]
    assert metric["value"] > 0
    parts = metric["partitions"]
    # An arm's rate is the sum of its kernels' rates.
    assert abs(sum(p["value"] for p in parts) / metric["value"] - 1) < 1e-9
    tasks = [t for p in cell["partitions"] for t in p["tasks"]]
    cpus = sorted(t["cpu"] for t in tasks)
    assert len(set(cpus)) == len(cpus) == cell["tasks"], cpus
    assert all(t["count"] > 0 for t in tasks)
    if not cell["anchor"]:
        placed.setdefault((cell["test"], cell["tasks"]), set()).add(tuple(cpus))
assert placed and all(len(cpus) == 1 for cpus in placed.values()), placed
arms = {a["name"]: a for a in run["arms"]}
assert all(a["nature"] in ("virtual", "emulated") and a["fresh"] for a in arms.values())
boots = [e for e in events if e["event"] == "boot"]
assert {(b["arm"], len(b["partitions"])) for b in boots} == {("single", 1), ("split", 2)}
facts = {(e["arm"], e["partition"]): e["facts"] for e in events if e["event"] == "facts"}
assert facts["single", "whole"]["cpu.online"] == "0-1"
assert facts["split", "west"]["cpu.online"] == "0"
# Two kernels, not one twice.
assert len({f["boot.id"] for f in facts.values()}) == 3
if arms["single"]["nature"] == "emulated":
    assert open("report.txt").readline().startswith("No evidence")
assert events[-1]["event"] == "end" and events[-1]["ok"]
PYTHON

grep -q 'Linux version' r/consoles/*.log
"$MKSPLIT" report "$work/r" --json | python3 -c 'import json, sys; json.load(sys.stdin)'
"$MKSPLIT" report "$work/r" >/dev/null
[ -s r/report.html ]
# Nothing of the run is left: no process that carries its mark, no journal, no run folder.
for environ in /proc/[0-9]*/environ; do
	if tr '\0' '\n' <"$environ" 2>/dev/null | grep -q '^MKSPLIT_RUN=' &&
		tr '\0' '\n' <"$environ" 2>/dev/null | grep -q "^MKSPLIT_STATE_DIR=$MKSPLIT_STATE_DIR\$"; then
		echo "$environ is left"
		exit 1
	fi
done
[ "$(find "$MKSPLIT_STATE_DIR" -mindepth 1 ! -name 'kvm-*' | wc -l)" -eq 0 ] || { find "$MKSPLIT_STATE_DIR"; exit 1; }
