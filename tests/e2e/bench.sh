#!/bin/bash
# mksplit-bench by hand: what it prints and how it ends, whatever is done to it.
set -eu
cd "$(dirname "$0")/../.."
# A /dev/shm of its own, where nobody else's runs come and go.
if [ "$(id -u)" -eq 0 ] && [ "${1:-}" != inside ]; then
	# shellcheck disable=SC2016 # expanded inside
	exec unshare --mount bash -c 'mount -t tmpfs -o mode=1777 own /dev/shm && exec "$0" inside' \
		tests/e2e/bench.sh
fi
BENCH=$(realpath "${BENCH:-${BUILD:-build}/bench/mksplit-bench}")
work=$(mktemp -d)
parent=
trap 'kill $parent 2>/dev/null || true; rm -rf "$work"' EXIT
cpu=$(taskset -cp $$ | sed 's/.*: //; s/[,-].*//')

fail() {
	echo "bench $case: $*"
	head -50 "$work/out" "$work/err"
	exit 1
}

# run CASE STATUS ARGUMENT...: has to end with STATUS; what it says is in out and err.
run() {
	local status=0
	case=$1
	"$BENCH" "${@:3}" >"$work/out" 2>"$work/err" </dev/null || status=$?
	[ $status -eq "$2" ] || fail "status $status, not $2"
}

# What is ours on this machine: processes, files, mounts.
leftovers() {
	find /proc -maxdepth 2 -name exe -lname "$BENCH*" 2>/dev/null || true
	ls -d /tmp/mksplit-?????? /dev/shm/mksplit-?????? "$work"/dir/* 2>/dev/null || true
	grep mksplit /proc/self/mountinfo || true
}

# Nothing is left but what was there before, at the latest after ten seconds.
same_as_before() {
	local new
	for _ in $(seq 100); do
		new=$(comm -13 <(sort <<<"$before") <(leftovers | sort))
		[ -n "$new" ] || return 0
		sleep 0.1
	done
	fail "left: $new"
}

# The child of a process, and its child: runner and task.
child_of() {
	ps -o pid= --ppid "$1" | tr -d ' ' | head -1
}

# Starts a long run and waits for its first sample: $parent $runner $task.
start() {
	case=$1
	"$BENCH" scale unlink1 --cpus "$cpu" -s 600 "${@:2}" >"$work/out" 2>"$work/err" </dev/null &
	parent=$!
	for _ in $(seq 600); do
		! grep -q ^min: "$work/out" || break
		sleep 0.1
	done
	grep -q ^min: "$work/out" || fail "no sample in a minute"
	runner=$(child_of "$parent")
	[ -n "$runner" ] || fail "no runner"
	task=$(child_of "$runner") # none where tasks are threads
}

ended_with() {
	local status=0
	wait "$parent" || status=$?
	parent=
	[ $status -eq "$1" ] || fail "status $status, not $1"
	! grep -q ^average: "$work/out" || fail "an average of a run that did not end"
	same_as_before
}

before=$(leftovers)

run version 0 --version
run help 0 --help
run nothing 2
run "unknown command" 2 scales
run "unknown test" 2 scale getppid0
grep -q '"getppid0"' "$work/err" || fail "does not name it"
run "no test" 2 scale
run "two tests" 2 scale getppid1 getppid1
run "unknown option" 2 scale getppid1 --colour
run "no task" 2 scale getppid1 -t 0
run "a word for a number" 2 scale getppid1 -s many
run "too many tasks" 2 scale getppid1 -t 4000
grep -q "4000 tasks need 4000 CPUs" "$work/err" || fail "does not say how many"
run "a CPU that is not there" 2 scale getppid1 --cpus 4000
run "no list" 2 scale getppid1 --cpus 1,,2
run "no folder" 1 scale unlink1 --cpus "$cpu" -s 1 --dir "$work/nowhere"
grep -q nowhere "$work/err" || fail "does not name it"
run "an agent without a link" 2 agent --token a
run "an agent of a closed link" 2 agent --token a --fd 1000
run "list of what" 2 list --yaml
[ ! -s "$work/out" ] || fail "writes to standard output"

# The lines of will-it-scale's programs, one by one: six samples to warm up, then those that count.
run shapes 0 scale getppid1 --cpus "$cpu" -s 2 -v
python3 - "$work/out" <<-'PYTHON' || fail "another shape of output"
	import re, sys
	lines = open(sys.argv[1]).read().split("\n")
	sample = [r" {3}0 -> (\d+)", r"min:(\d+) max:(\d+) total:(\d+)"]
	want = ["testcase:.+", "warmup"] + 6 * sample + ["measurement"] + 2 * sample + [r"average:(\d+)", ""]
	assert len(lines) == len(want), (len(lines), len(want))
	found = [re.fullmatch(w, line) for w, line in zip(want, lines)]
	assert all(found), lines[[bool(f) for f in found].index(False)]
	counts = [int(f[3]) for f in found if "total" in f[0]]
	assert sum(counts) > 0, counts
	assert int(found[-2][1]) == sum(counts[6:]) // 2, lines
PYTHON
[ ! -s "$work/err" ] || fail "complains"
run threads 0 scale getppid1 --cpus "$cpu" -s 1 --threads -t 2 --oversubscribe
grep -Eq '^average:[0-9]+$' "$work/out" || fail "no average"
run json 0 scale unlink1 --cpus "$cpu" -s 1 --json
python3 - "$work/out" <<-'PYTHON' || fail "no such JSON"
	import json, sys
	run = json.load(open(sys.argv[1]))
	assert run["test"] == "unlink1" and run["tasks"] == 1 and run["mode"] == "processes", run
	assert [s["k"] for s in run["samples"]] == list(range(run["warmup"] + 2)), run
	assert run["samples"][-1]["counts"][0] > 0, run
PYTHON
same_as_before

# A task that dies or stands still is no number, and is named.
for signal in KILL STOP SEGV; do
	start "SIG$signal of a task"
	kill -$signal "$task"
	ended_with 1
	grep -q "task 0 on CPU $cpu (pid $task): .* by SIG$signal" "$work/err" || fail "does not name it"
done
start "SIGKILL of the runner"
kill -KILL "$runner"
ended_with 1
grep -q "killed by SIGKILL" "$work/err" || fail "does not say so"

# Whatever ends the program, nothing of it stays: in a tmpfs of its own, in a folder, with a thread.
mkdir "$work/dir"
for options in "" "--dir $work/dir" "--threads"; do
	for signal in TERM INT HUP KILL; do
		# shellcheck disable=SC2086
		start "SIG$signal $options" $options
		kill -$signal "$parent"
		case $signal in
		KILL) ended_with 137 ;;
		*) ended_with 130 ;;
		esac
	done
done

# Also while it prepares, where a loop has long to do so.
for signal in TERM KILL; do
	case="SIG$signal while it prepares"
	for delay in 0.005 0.01 0.02 0.05 0.1; do
		"$BENCH" scale pread1 --cpus "$cpu" --dir "$work/dir" >"$work/out" 2>"$work/err" </dev/null &
		parent=$!
		sleep $delay
		kill -$signal "$parent"
		wait "$parent" || true
		parent=
		same_as_before
	done
done
echo "every case as it has to be"
