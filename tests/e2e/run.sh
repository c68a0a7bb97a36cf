#!/bin/bash
# Whole runs on the host with another agent: a good one, agents that fail in every way, an
# interrupted run and its resumption. What is asserted is what gets stored, and the exit status.
set -eu
cd "$(dirname "$0")/../.."
[ "${1:-}" = inside ] || exec tests/e2e/own-state tests/e2e/run.sh inside
BUILD=$(realpath "${BUILD:-build}")
MKSPLIT=${MKSPLIT:-$BUILD/harness/mksplit}
export MKSPLIT_BENCH=$PWD/tests/e2e/agent.py
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/plan.json" <<-'PLAN'
	{ "format": 1, "name": "run", "quiet": "none",
	  "arms": [ { "name": "a", "backend": "host", "partitions": [ { "name": "host", "host": true, "cpus": "all[0]" } ] } ],
	  "tests": [ { "test": "getppid1" }, { "test": "unlink1" }, { "test": "rename1" } ], "tasks": "1",
	  "measure": { "warmup": "20ms", "samples": 3, "interval": "50ms", "guard": "10ms" }, "blocks": 2 }
PLAN

fail() {
	echo "$case: $*"
	cat "$work/log"
	exit 1
}

# run CASE STATUS [OPTION...]: a run of the plan into $work/CASE that has to end with STATUS.
run() {
	local status=0
	case=$1
	"$MKSPLIT" run "$work/plan.json" --ignore idle --seed 5 --output "$work/$case" "${@:3}" >"$work/log" 2>&1 ||
		status=$?
	[ $status -eq "$2" ] || fail "status $status"
}

# statuses CASE TEST: the statuses of a test's attempts, in order; usable ones are all "ok".
statuses() {
	python3 - "$work/$1/events.jsonl" "$2" <<-'PYTHON'
		import json, sys
		events = [json.loads(line) for line in open(sys.argv[1])]
		found = [e["status"] for e in events if e["event"] == "cell" and e["test"] == sys.argv[2]]
		print(" ".join(found).replace("flagged", "ok"))
	PYTHON
}

same() {
	[ "$1" = "$2" ] || fail "\"$1\" is not \"$2\""
}

run good 0
for test in getppid1 unlink1 rename1; do same "$(statuses good $test)" "ok ok"; done
grep -q "of overhead" "$work/log" || fail "does not say what the overhead was"
[ -z "$(ls "$work/good/blobs")" ] || fail "blobs"

# Twice into one folder is refused, and nothing to resume is success.
run good 1
"$MKSPLIT" run --resume "$work/good" --ignore idle >"$work/log" 2>&1 || fail "resume of a whole run"
same "$(statuses good unlink1)" "ok ok"

MKSPLIT_TEST_AGENT=noise run noise 0
same "$(statuses noise unlink1)" "ok ok"
grep -q "a kernel message" "$work"/noise/consoles/*.link || fail "console text is lost"

MKSPLIT_TEST_AGENT=kill-task run kill-task 1
same "$(statuses kill-task unlink1)" "failed failed"
same "$(statuses kill-task rename1)" "ok ok"
grep -q "task 0 on CPU .*: signal 11" "$work/kill-task/events.jsonl" || fail "no reason"

# An agent that ends loses its cell; a second boot does the rest.
MKSPLIT_TEST_AGENT="exit" run exit 1
same "$(statuses exit unlink1)" "failed failed"
same "$(statuses exit rename1)" "ok ok"
grep -q "ended with status 3: agent: out of luck" "$work/exit/events.jsonl" || fail "no last words"

# What failed is what is missing.
"$MKSPLIT" run --resume "$work/exit" --ignore idle >"$work/log" 2>&1 || fail "resume"
same "$(statuses exit unlink1)" "failed failed ok ok"
same "$(statuses exit rename1)" "ok ok"

for signal in INT:130 TERM:143; do
	case=${signal%:*}
	# A background job of a script ignores SIGINT; a terminal's does not.
	python3 - "$MKSPLIT" "$work" "$case" >"$work/log" 2>&1 <<-'PYTHON' || fail "was not stopped as it should"
		import signal, subprocess, sys, time
		program, work, name = sys.argv[1:]
		signal.signal(signal.SIGINT, signal.default_int_handler)
		p = subprocess.Popen([program, "run", f"{work}/plan.json", "--ignore", "idle", "--seed", "5",
		                      "--output", f"{work}/{name}"], stderr=subprocess.PIPE, text=True)
		lines = []
		for line in p.stderr:
		    lines.append(line)
		    if " ok " in line or " flagged " in line:
		        p.send_signal(signal.SIGHUP)
		        p.send_signal(getattr(signal, "SIG" + name))
		        break
		lines += p.stderr.readlines()
		text = "".join(lines)
		print(text, p.wait())
		assert p.wait() == {"INT": 130, "TERM": 143}[name]
		assert f"mksplit run --resume {work}/{name}" in text
	PYTHON
	grep -q '"interrupted":true' "$work/$case/events.jsonl" || fail "no end event"
	cp "$work/$case/events.jsonl" "$work/before"
	"$MKSPLIT" run --resume "$work/$case" --ignore idle >"$work/log" 2>&1 || fail "resume"
	cmp -n "$(stat -c %s "$work/before")" "$work/before" "$work/$case/events.jsonl" || fail "events changed"
	for test in getppid1 unlink1 rename1; do same "$(statuses "$case" $test)" "ok ok"; done
done
case=leftovers
"$MKSPLIT" status >"$work/log"
grep -q "Nothing runs" "$work/log" || fail "something is left"
echo "whole runs, failing agents, interruption and resumption"
