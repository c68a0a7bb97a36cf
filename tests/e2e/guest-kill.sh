#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A kernel that cannot be loaded, QEMU killed, mksplit killed: each cell ends with the reason, the
# other arm is measured all the same, nothing stays behind, and a resumed run is whole, with what was
# stored before as the same bytes. (guest-deaths.sh has panics and kills at each step.)
set -eu
command -v qemu-system-x86_64 >/dev/null || { echo "there is no QEMU here"; exit 77; }
ls /boot/vmlinuz-* >/dev/null 2>&1 || { echo "there is no kernel image here"; exit 77; }
: "${MKSPLIT:=$(realpath "$(dirname "$0")/../../build")/harness/mksplit}"
work=$(mktemp -d)
export MKSPLIT_STATE_DIR=$work/state
trap 'rm -rf "$work"' EXIT
cd "$work"

# make_plan NAME IMAGE APPEND
make_plan() {
	cat >"$1.json" <<-PLAN
		{ "format": 1, "name": "$1", "quiet": "none", "allow_smt_split": true,
		  "ignore": [ "idle", "guests" ],
		  "kernels": { "good": { "image": "auto" }, "bad": { "image": "$2", "append": "$3" } },
		  "arms": [
		    { "name": "bad", "backend": "qemu", "partitions": [
		      { "name": "one", "cpus": "all[0]", "kernel": "bad", "memory": "256M" } ] },
		    { "name": "good", "backend": "qemu", "partitions": [
		      { "name": "one", "cpus": "all[0]", "kernel": "good", "memory": "256M" } ] } ],
		  "tests": [ { "test": "getppid1" } ], "tasks": "1", "blocks": 1,
		  "measure": { "warmup": "500ms", "samples": 3, "interval": "500ms", "guard": "100ms" } }
	PLAN
}

ours() {
	local environ
	for environ in /proc/[0-9]*/environ; do
		{ tr '\0' '\n' <"$environ"; } 2>/dev/null | grep -qx "MKSPLIT_STATE_DIR=$MKSPLIT_STATE_DIR" ||
			continue
		environ=${environ%/environ}
		grep -qa qemu-system "$environ/cmdline" 2>/dev/null && echo "${environ#/proc/}"
	done
	return 0
}

nothing_left() {
	local left
	left=$(ours)
	[ -z "$left" ] || { echo "$1: processes are left: $left"; exit 1; }
	left=$(find "$MKSPLIT_STATE_DIR" -mindepth 1 ! -name 'kvm-*')
	[ -z "$left" ] || { echo "$1: left: $left"; exit 1; }
}

# statuses FOLDER ARM: of its cells, each by its last attempt.
statuses() {
	python3 - "$1/events.jsonl" "$2" <<-'PYTHON'
		import json, sys
		cells = {}
		for line in open(sys.argv[1]):
		    event = json.loads(line)
		    if event["event"] == "cell" and event["arm"] == sys.argv[2]:
		        cells[event["key"]] = event["status"]
		print(*sorted("ok" if s == "flagged" else s for s in set(cells.values())))
	PYTHON
}

# bad NAME PATTERN: the bad arm says why, the good one is measured all the same.
bad() {
	local status=0
	"$MKSPLIT" run "$1.json" --ignore idle --output "$1" >"$1.out" 2>"$1.err" || status=$?
	[ $status -eq 1 ] || { echo "$1 ended with $status"; cat "$1.err"; exit 1; }
	grep -Eq 'skipped.*'"$2" "$1.err" || { echo "$1: no \"$2\""; cat "$1.err"; exit 1; }
	[ "$(statuses "$1" good)" = ok ] || { echo "$1: the good arm"; cat "$1.err"; exit 1; }
	nothing_left "$1"
}

head -c 1000000 /dev/zero >zeros
make_plan missing "$work/no-image" ""
bad missing 'no-image: No such file'
make_plan garbage "$work/zeros" ""
bad garbage 'QEMU: it ended with status 1: .*kernel'
# begin FOLDER: a run in the background whose first arm is up; sets pid.
make_plan good auto ""
begin() {
	"$MKSPLIT" run good.json --ignore idle --output "$1" >"$1.out" 2>"$1.err" &
	pid=$!
	until grep -qs '"event": *"boot"' "$1/events.jsonl"; do
		kill -0 $pid || { cat "$1.err"; exit 1; }
		sleep 0.1
	done
}

begin qemu-killed
kill -KILL "$(ours | head -n 1)"
status=0
wait $pid || status=$?
[ $status -eq 1 ] || { echo "with QEMU killed it ended with $status"; cat qemu-killed.err; exit 1; }
grep -q 'killed by signal 9' qemu-killed.err || { echo "no signal named"; cat qemu-killed.err; exit 1; }
[ "$(statuses qemu-killed bad) $(statuses qemu-killed good)" != "ok ok" ]
nothing_left qemu-killed
cp qemu-killed/events.jsonl before
"$MKSPLIT" run --resume qemu-killed --ignore idle >resumed.out 2>resumed.err ||
	{ cat resumed.err; exit 1; }
cmp -n "$(stat -c %s before)" before qemu-killed/events.jsonl
[ "$(statuses qemu-killed bad) $(statuses qemu-killed good)" = "ok ok" ]

begin killed
kill -KILL $pid
wait $pid || true
cp killed/events.jsonl before
"$MKSPLIT" status | grep -q 'has died'
"$MKSPLIT" cleanup
nothing_left killed
"$MKSPLIT" run --resume killed --ignore idle >resumed.out 2>resumed.err ||
	{ cat resumed.err; exit 1; }
cmp -n "$(stat -c %s before)" before killed/events.jsonl
[ "$(statuses killed bad) $(statuses killed good)" = "ok ok" ]
nothing_left resumed
