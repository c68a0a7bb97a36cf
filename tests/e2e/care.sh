#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A machine that is busy, or that runs guests, is not borrowed without being told to.
set -u
# Its own /run, so that no other run's journal is in the way.
if [ "$(id -u)" -eq 0 ] && [ -z "${CARE_ALONE:-}" ]; then
	unshare --mount true || { echo "no mount namespace here"; exit 77; }
	CARE_ALONE=1 exec unshare --mount -- "$0" "$@"
fi
[ "$(id -u)" -ne 0 ] || mount -t tmpfs none /run || exit 77
MKSPLIT=${MKSPLIT:-$BUILD/harness/mksplit}
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$work"' EXIT
cat >"$work/plan.json" <<-'PLAN'
	{ "format": 1, "name": "care", "quiet": "none",
	  "arms": [ { "name": "a", "backend": "host", "partitions": [ { "name": "host", "cpus": "all[0]" } ] } ],
	  "tests": [ { "test": "getppid1" } ], "tasks": "1", "blocks": 1,
	  "measure": { "warmup": "10ms", "samples": 2, "interval": "20ms", "guard": "10ms" } }
PLAN
# All that the command asks of it before it looks at the machine.
cat >"$work/bench" <<-'BENCH'
	#!/bin/sh
	echo '{"tests": [{"family": "scale", "test": "getppid1"}]}'
BENCH
chmod +x "$work/bench"
export MKSPLIT_BENCH=$work/bench XDG_RUNTIME_DIR=$work
failed=0

# refused STATUS TEXT OPTION...: the run ends so, says so, and has stored nothing.
refused() {
	local status=$1 text=$2 got
	shift 2
	"$MKSPLIT" run "$work/plan.json" --quiet --output "$work/out" "$@" >"$work/log" 2>&1
	got=$?
	if [ $got -ne "$status" ] || ! grep -q -- "$text" "$work/log" || [ -e "$work/out" ]; then
		echo "run $*: status $got, not $status with \"$text\":"
		cat "$work/log"
		failed=1
	fi
}

while :; do :; done &
refused 1 'idle: .* % idle over 2.0 s; .*(or --ignore idle)' --ignore guests
refused 2 'there is no check "idel"' --ignore idel

cp "$(command -v sleep)" "$work/qemu-system-none"
"$work/qemu-system-none" 600 &
refused 1 'guests: .*qemu-system-non.*(or --ignore guests)' --ignore idle

# Told to, it goes on: the results folder is there, whatever the stand-in for an agent does then.
"$MKSPLIT" run "$work/plan.json" --quiet --output "$work/out" --ignore idle --ignore guests \
	--ignore sleep >"$work/log" 2>&1 </dev/null
if [ ! -s "$work/out/events.jsonl" ]; then
	echo "with --ignore idle and guests the run did not begin:"
	cat "$work/log"
	failed=1
fi
exit $failed
