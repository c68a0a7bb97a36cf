#!/bin/bash
# SIGKILL of mksplit before and after each of its flushes, which are the boundaries of its steps. Then
# `cleanup` leaves nothing behind, `run --resume` does exactly the missing cells, and what was
# stored before is the same bytes after.
set -eu
cd "$(dirname "$0")/../.."
[ "${1:-}" = inside ] || exec tests/e2e/own-state tests/e2e/kill.sh inside
BUILD=$(realpath "${BUILD:-build}")
MKSPLIT=${MKSPLIT:-$BUILD/harness/mksplit}
# Which loop runs does not matter here; this agent is there without a build of the benchmark.
export MKSPLIT_BENCH=$PWD/tests/e2e/agent.py
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/plan.json" <<-'PLAN'
	{ "format": 1, "name": "kill", "quiet": "none", "ignore": [ "idle", "guests", "sleep" ],
	  "arms": [ { "name": "a", "backend": "host", "partitions": [ { "name": "host", "host": true, "cpus": "all[0]" } ] } ],
	  "tests": [ { "test": "getppid1" }, { "test": "unlink1" } ], "tasks": "1",
	  "measure": { "warmup": "10ms", "samples": 2, "interval": "20ms", "guard": "10ms" }, "blocks": 2 }
PLAN

fail() {
	echo "kill $when flush $at: $*"
	exit 1
}

# What is ours on this machine: agents by their command line, mounts, folders.
leftovers() {
	local process
	for process in /proc/[0-9]*; do
		{ tr '\0' ' ' <"$process/cmdline" | grep -qF "$MKSPLIT_BENCH agent"; } 2>/dev/null &&
			echo "process ${process#/proc/}"
	done
	grep mksplit /proc/self/mounts || true
	ls -d /run/mksplit/run-* "${XDG_RUNTIME_DIR:-/nonexistent}"/mksplit/run-* \
		"/tmp/mksplit-$(id -u)"/run-* 2>/dev/null || true
	ls -d /tmp/mksplit-bench* 2>/dev/null || true
}

cells() {
	python3 - "$1/events.jsonl" <<-'PYTHON'
		import json, sys
		from collections import Counter
		done = Counter()
		for line in open(sys.argv[1]):
		    event = json.loads(line)
		    if event["event"] == "cell" and event["status"] in ("ok", "flagged"):
		        done[event["key"]] += 1
		print(len(done), max(done.values(), default=0))
	PYTHON
}

before=$(leftovers)
"$MKSPLIT" run "$work/plan.json" --ignore idle --quiet --seed 7 --output "$work/whole" >"$work/log" 2>&1 || {
	cat "$work/log"
	exit 1
}
read -r want _ < <(cells "$work/whole")
[ "$want" -gt 0 ]

at=1 kills=0
while :; do
	for when in before after; do
		dir=$work/$at-$when
		status=0
		LD_PRELOAD=$BUILD/tests/e2e/kill-at.so KILL_AT=$at KILL_WHEN=$when \
			"$MKSPLIT" run "$work/plan.json" --ignore idle --quiet --seed 7 --output "$dir" \
			>"$work/log" 2>&1 || status=$?
		if [ $status -eq 0 ]; then
			# It has fewer flushes than that.
			[ $kills -gt 20 ] || fail "only $kills kills"
			echo "$kills kills; each left nothing, and was resumed to $want cells"
			exit 0
		fi
		[ $status -eq 137 ] || fail "ended with $status: $(cat "$work/log")"
		kills=$((kills + 1))
		"$MKSPLIT" cleanup >"$work/log" 2>&1 || fail "cleanup: $(cat "$work/log")"
		# Agents notice the end of their link by themselves; they may take a moment.
		for _ in $(seq 100); do
			after=$(leftovers)
			[ "$after" = "$before" ] && break
			sleep 0.1
		done
		[ "$after" = "$before" ] || fail "left behind: $after"
		[ -s "$dir/events.jsonl" ] || continue # killed before there was anything to resume
		cp "$dir/events.jsonl" "$work/stored"
		"$MKSPLIT" run --resume "$dir" --ignore idle --quiet >"$work/log" 2>&1 || {
			grep -q "had not begun" "$work/log" && continue
			fail "resume: $(cat "$work/log")"
		}
		# Up to its last whole line.
		head -c "$(python3 -c 'import sys; print(open(sys.argv[1], "rb").read().rfind(b"\n") + 1)' "$work/stored")" \
			"$work/stored" >"$work/whole-lines"
		cmp -n "$(stat -c %s "$work/whole-lines")" "$work/whole-lines" "$dir/events.jsonl" ||
			fail "stored events changed"
		[ "$(cells "$dir")" = "$want 1" ] || fail "cells, and how often each: $(cells "$dir")"
	done
	at=$((at + 1))
done
