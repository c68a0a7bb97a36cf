#!/bin/bash
# Null run: the host against the host under two names, 20 seeds with short cells. The two arms are
# the same, so what the analysis says about them has to be "1".
set -eu
cd "$(dirname "$0")/../.."
[ "${1:-}" = inside ] || exec tests/e2e/own-state tests/e2e/null.sh inside
BUILD=${BUILD:-build}
MKSPLIT=${MKSPLIT:-$BUILD/harness/mksplit}
[ -n "${MKSPLIT_BENCH:-}" ] || [ -x "$BUILD/bench/mksplit-bench" ] || {
	echo "mksplit-bench is not built"
	exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/plan.json" <<-'PLAN'
	{ "format": 1, "name": "null", "quiet": "none", "ignore": [ "idle", "guests", "sleep" ],
	  "arms": [
	    { "name": "a", "backend": "host", "partitions": [ { "name": "host", "host": true, "cpus": "all[0]" } ] },
	    { "name": "b", "backend": "host", "partitions": [ { "name": "host", "host": true, "cpus": "all[0]" } ] } ],
	  "tests": [ { "test": "getppid1", "primary": true } ], "tasks": "1",
	  "measure": { "warmup": "50ms", "samples": 3, "interval": "50ms", "guard": "50ms" },
	  "blocks": 6, "margin": "3%", "compare": [ { "base": "a", "with": "b" } ] }
PLAN
for seed in $(seq 1 20); do
	"$MKSPLIT" run "$work/plan.json" --ignore idle --quiet --seed "$seed" --output "$work/$seed" >"$work/$seed.txt" ||
		"$MKSPLIT" run --resume "$work/$seed" --ignore idle --quiet >"$work/$seed.txt" || {
		# Windows are so short that a busy machine can keep a task from running in all of them.
		cat "$work/$seed.txt"
		exit 1
	}
	"$MKSPLIT" report "$work/$seed" --json >"$work/$seed.json"
done
python3 - "$work" <<-'PYTHON'
	import json, sys

	beyond_margin = excludes_one = 0
	for seed in range(1, 21):
	    report = json.load(open(f"{sys.argv[1]}/{seed}.json"))
	    rows = [r for c in report["compare"] for r in c["rows"] if r["test"] == "getppid1" and r["main"]]
	    assert rows, f"seed {seed}: no row"
	    for row in rows[:1]:
	        raw = row["raw"]
	        assert raw["blocks"] == 6, raw
	        low, high = raw["ci95"]
	        beyond_margin += low > 1.03 or high < 0.97
	        excludes_one += low > 1 or high < 1
	        assert row["verdict"] not in ("faster", "slower"), row
	print(f"of 20 null runs {excludes_one} intervals exclude 1, {beyond_margin} claim more than 3 %")
	# 5 % of honest intervals exclude 1, which 20 runs exceed by three only in 2 of 100 cases.
	sys.exit(beyond_margin > 1 or excludes_one > 3)
PYTHON
