#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Real guests: two boot side by side, also with one port for console and link. One that is killed or
# panics ends its cell with the reason, and the run goes on to its end. A killed mksplit leaves nothing.
set -eu
cd "$(dirname "$0")/../.."
[ "${1:-}" = inside ] || exec tests/e2e/own-state tests/e2e/guest-deaths.sh inside
BUILD=$(realpath "${BUILD:-build}")
MKSPLIT=${MKSPLIT:-$BUILD/harness/mksplit}
command -v qemu-system-x86_64 >/dev/null || { echo "there is no QEMU here"; exit 77; }
ls /boot/vmlinuz-* >/dev/null 2>&1 || { echo "there is no kernel image here"; exit 77; }
work=$(mktemp -d)
mark=deaths-$$
run=
trap 'kill $run 2>/dev/null || true; rm -rf "$work"' EXIT

# plan NAME APPEND ONE_CONSOLE: two guests on the first CPU and the last.
plan() {
	cat >"$work/$1.json" <<-PLAN
		{ "format": 1, "name": "$1", "quiet": "none", "allow_smt_split": true,
		  "ignore": [ "idle", "guests", "sleep" ],
		  "kernels": { "k": { "image": "auto", "append": "$2 mark=$mark", "one_console": $3 } },
		  "arms": [ { "name": "pair", "backend": "qemu", "partitions": [
		    { "name": "west", "cpus": "all/2.0[0]", "kernel": "k", "memory_per_cpu": "192M" },
		    { "name": "east", "cpus": "all/2.1[0]", "kernel": "k", "memory_per_cpu": "192M" } ] } ],
		  "tests": [ { "test": "getppid1" } ], "tasks": "2",
		  "measure": { "warmup": "2s", "samples": 3, "interval": "1s", "guard": "50ms" }, "blocks": 1 }
	PLAN
}

fail() {
	echo "$what: $*"
	cat "$work/log"
	exit 1
}

guests() {
	pgrep -f -- "-append .*mark=$mark" || true
}

nothing_left() {
	local left
	for _ in $(seq 200); do
		left=$(guests; ls -d /run/mksplit/run-* /run/mksplit/kvm-probe* 2>/dev/null || true)
		[ -z "$left" ] && return
		sleep 0.1
	done
	fail "left behind: $left"
}

# Starts a run of plan $1; its process is $run.
start() {
	rm -rf "$work/out"
	"$MKSPLIT" run "$work/$1.json" --quiet --seed 3 --output "$work/out" >"$work/log" 2>&1 &
	run=$!
}

# wait_for PATTERN: an event that matches, for as long as the run goes on.
wait_for() {
	until grep -q "$1" "$work/out/events.jsonl" 2>/dev/null; do
		kill -0 "$run" 2>/dev/null || fail "ended without event $1"
		sleep 0.1
	done
}

ends_with() {
	local status=0
	wait "$run" || status=$?
	run=
	[ "$status" -eq "$1" ] || fail "status $status instead of $1"
	nothing_left
}

# cell STATUS TEXT: some cell has that status, and its reason the text.
cell() {
	python3 - "$work/out/events.jsonl" "$1" "$2" <<-'PYTHON' || fail "no cell $1 with \"$2\""
		import json, sys
		cells = [e for e in map(json.loads, open(sys.argv[1])) if e["event"] == "cell"]
		good = [c for c in cells if c["status"] == sys.argv[2] and sys.argv[3] in c.get("reason", "")]
		if not good:
		    print([(c["status"], c.get("reason")) for c in cells])
		sys.exit(not good)
	PYTHON
}

measured() {
	grep -q '"status": *"\(ok\|flagged\)"' "$work/out/events.jsonl" || fail "nothing was measured"
	grep -q "Linux version" "$work/out/consoles/$1" || fail "no console log"
}

plan plain "" false
plan shared "" true
plan panicking "rdinit=/nonexistent root=/dev/nonexistent" false

what="two guests"
start plain
wait_for '"event": *"boot"'
for name in west east; do
	path=$("$MKSPLIT" status --json | python3 -c \
		"import json, sys; print(json.load(sys.stdin)['status']['consoles']['$name'])")
	[ -S "$path" ] || fail "no console of $name is served"
done
ends_with 0
grep -q "Kernel command line" "$work/out/consoles/pair-east.log" ||
	fail "the console's log does not have the boot"
measured pair-west.log

what="one port for console and link"
start shared
ends_with 0
measured pair-west.log

what="a guest that panics"
start panicking
ends_with 1
cell skipped "Kernel panic"

what="a killed guest"
start plain
wait_for '"event": *"boot"'
sleep 1
pkill -KILL -f -- "-name mksplit-east.*mark=$mark" || fail "it was not there"
ends_with 1
cell failed "killed by signal 9"


for at in '"event": *"run"' '"event": *"step".*start-guest' '"event": *"step".*run-guest' '"event": *"boot"'; do
	what="mksplit killed after $at"
	start plain
	wait_for "$at"
	kill -KILL "$run"
	wait "$run" 2>/dev/null || true
	run=
	"$MKSPLIT" cleanup >"$work/log" 2>&1 || fail "cleanup failed"
	nothing_left
	[ ! -e /run/mksplit/journal ] || fail "a journal is left"
done
echo "guests booted, died and were cleaned up as they should"
