#!/bin/bash
# The plans for multikernel hosts on mksim's machines, in strict mode: every arm comes up, its agents say
# hello, it goes down, and at the end the machine is as it was. On dumps of real machines the physical
# ids in the blobs are compared with tables written by hand.
set -u
cd "$(dirname "$0")/../.." || exit 1
if [ "$(id -u)" != 0 ]; then
	echo "needs root"
	exit 77
fi
# A /run of its own: the journal is one a machine, and there are many machines here.
if [ -z "${MKLINUX_ROOM:-}" ]; then
	export MKLINUX_ROOM=1
	exec unshare -m "$0" "$@"
fi
mount -t tmpfs none /run || exit 77
BUILD=$(readlink -f "${BUILD:-build}")
export MKSPLIT_BENCH=${MKSPLIT_BENCH:-$BUILD/tests/e2e/spawn-agent}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
"$BUILD/sim/mksim" --write-kernel="$work/vmlinux"

# cycle NAME PLAN BLOCKS SILENT-ARM MKSIM-OPTIONS...
cycle() {
	local name=$1 plan=$2 blocks=$3 silent=$4
	shift 4
	rm -rf /run/mksplit*
	sed "s#\"image\": \"auto\"#\"image\": \"$work/vmlinux\"#" "$plan" >"$work/plan.json"
	if timeout 300 "$BUILD/sim/mksim" --strict --log="$work/log" "$@" -- \
		"$BUILD/tests/e2e/mklinux-cycle" "$work/plan.json" "$blocks" "$silent" >"$work/out" 2>&1; then
		echo "ok: $name"
	else
		echo "FAIL: $name"
		tail -12 "$work/out"
		failed=1
	fi
}

socket=(--topology "pack:2 numa:1 core:24 pu:1")
cycle "socket-split-48, g2a" configs/plans/socket-split-48.json 2 "" "${socket[@]}" --abi g2a
cycle "socket-split-48, g2b" configs/plans/socket-split-48.json 2 "" "${socket[@]}" --abi g2b
cycle "socket-split-48, hardware threads" configs/plans/socket-split-48.json 1 "" \
	--topology "pack:2 numa:1 core:24 pu:2"
cycle "socket-split-48, 2 of 4 packages" configs/plans/socket-split-48.json 1 "" \
	--topology "pack:4 numa:1 core:8 pu:1"
cycle "socket-split-48, 64 cores a socket" configs/plans/socket-split-48.json 1 "" \
	--topology "pack:2 numa:1 core:64 pu:1" --node-memory=256G
cycle "kernels that nobody told to stop" configs/plans/socket-split-48.json 1 two-spawns "${socket[@]}"
for plan in one-socket-spawns one-socket-host-same-silicon one-socket-host-as-published \
	cross-socket-straddling apparmor-off mmap1-memory; do
	cycle "$plan" "configs/plans/$plan.json" 1 "" "${socket[@]}"
done

# plan_of SET SET: an arm of two spawn kernels
plan_of() {
	cat <<-PLAN
		{ "format": 1, "name": "x", "quiet": "none", "kernels": { "spawn": { "image": "auto" } },
		  "arms": [ { "name": "split", "backend": "mklinux", "partitions": [
		    { "name": "first", "cpus": "$1", "kernel": "spawn", "memory": "512M" },
		    { "name": "second", "cpus": "$2", "kernel": "spawn", "memory": "512M" } ] } ],
		  "tests": [ { "test": "getppid1" } ], "tasks": "2", "blocks": 1 }
	PLAN
}

# dump NAME SET IDS SET IDS: ids as in the blobs
dump() {
	local file="${MKSPLIT_MACHINES:-../shared/machines}/$1.tar.bz2"

	[ -e "$file" ] || return
	mkdir -p "$work/$1"
	tar xjf "$file" -C "$work/$1" --strip-components=1
	plan_of "$2" "$4" >"$work/dump.json"
	rm -rf "$work/blobs"
	"$BUILD/harness/mksplit" plan --sysroot "$work/$1" --overlays "$work/blobs" "$work/dump.json" >"$work/out" 2>&1 ||
		cat "$work/out"
	for want in "first:$3" "second:$5"; do
		if ! grep -h -A8 "instance-name = \"mksplit-${want%%:*}\"" "$work"/blobs/*.dts |
			grep -qF "cpus = /bits/ 64 <${want#*:}>"; then
			echo "FAIL: $1: ${want%%:*} should have the ids ${want#*:}"
			failed=1
		fi
	done
	cycle "$1" "$work/dump.json" 1 "" --topology "$file"
}
# By hand, from each machine's /proc/cpuinfo and node lists.
dump 16amd64-8n2c-cpusets numa:1 "18 19" numa:7 "30 31"
dump 20em64t-hybrid-1p6c2t+2ca4co1t core:2 "16 17" 12-15 "48 50 52 54"
dump 32em64t-2n8c+dax+nvme+mic+dimms "(package:0)-0" "2 4 6 8 10 12 14" package:1 "32 34 36 38 40 42 44 46"
dump 40intel64-4n10c+pci-conflicts numa:1/2.0 "64 66 68 80 82" "numa:3" "192 194 196 208 210 224 226 228 240 242"
exit $failed
