#!/bin/bash
# `mksplit try` on mksim's machine, in strict mode: it succeeds and leaves the machine as it was; for
# each refusal of the kernel it prints the sentence that says what to do; killed at any step, `mksplit
# cleanup` brings the machine back.
set -u
cd "$(dirname "$0")/../.." || exit 1
if [ "$(id -u)" != 0 ]; then
	echo "needs root"
	exit 77
fi
# A /run of its own: the journal is one a machine, and there are many machines here.
if [ -z "${MKLINUX_TRY_ROOM:-}" ]; then
	export MKLINUX_TRY_ROOM=1
	exec unshare -m "$0" "$@"
fi
mount -t tmpfs none /run || exit 77
BUILD=$(readlink -f "${BUILD:-build}")
export MKSPLIT=${MKSPLIT:-$BUILD/harness/mksplit}
export MKSPLIT_BENCH=${MKSPLIT_BENCH:-$BUILD/tests/e2e/spawn-agent}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
"$BUILD/sim/mksim" --write-kernel="$work/vmlinux"
export KERNEL=$work/vmlinux

# sim WANTED-STATUS MKSIM-OPTIONS... -- COMMAND...: a machine; its output is in $work/out
sim() {
	local wanted=$1
	shift
	rm -rf /run/mksplit
	timeout 300 "$BUILD/sim/mksim" --log="$work/log" "$@" >"$work/out" 2>&1
	local is=$?
	[ "$is" = "$wanted" ] && return 0
	echo "FAIL: mksim $*: status $is, not $wanted"
	grep -v ' | ' "$work/out" | tail -15
	failed=1
	return 1
}

try=("$MKSPLIT" try --kernel "$KERNEL")
small=(--topology "pack:2 numa:1 core:2 pu:1")

for abi in g2a g2b; do
	for spec in "pack:2 numa:1 core:24 pu:1" "pack:2 numa:1 core:4 pu:2" "pack:4 numa:1 core:3 pu:1"; do
		sim 0 --strict --abi $abi --topology "$spec" -- "${try[@]}" && echo "ok: $abi, $spec"
	done
done
for dump in "${MKSPLIT_MACHINES:-../shared/machines}"/*.tar.bz2; do
	[ -e "$dump" ] || continue
	sim 0 --strict --topology "$dump" -- "${try[@]}" && echo "ok: $(basename "$dump")"
done

# says FAULT STATUS SENTENCE: what is printed when the kernel refuses. STATUS is of mksplit; a poisoned
# instance stays, so strict mode is off here.
says() {
	sim "$2" "${small[@]}" --fault "$1" -- "${try[@]}" || return
	if ! grep -qF "$3" "$work/out"; then
		echo "FAIL: $1 does not say \"$3\""
		tail -2 "$work/out"
		failed=1
	fi
}
# Steps: 1 the probe, 2 baseline, 3 create, 4 load, 5 boot, 6 unload, 7 remove, 8 CPUs home, 9 memory home.
says EINVAL@2 1 "rejects the tree itself"
says E2BIG@2 1 "more pieces of memory"
says ENODEV@2 1 "is not present"
says ERANGE@2 1 "outside of the pool"
says EBUSY@2 1 "a pool exists already"
says ENOMEM@2 0 "compacting, and once more"
says EOPNOTSUPP@2 1 "cannot park CPUs"
says EINVAL@3 1 "a property or target"
says EPERM@3 1 "there is no pool"
says ENOENT@3 1 "does not exist"
says EEXIST@3 1 "with this name or id exists"
says EBUSY@3 0 "everything is as it was"
says ENOMEM@3 1 "not enough free memory"
says ENODEV@3 1 "does not know this CPU"
says ETIMEDOUT@3 1 "did not answer in 10 s"
says EOPNOTSUPP@3 1 "halt it first"
says ENOSPC@3 1 "message ring"
says applied-without-cpus@3 1 "was created without CPUs"
says applied-but-error@2 0 "the pool is complete"
says tx-lost@3 1 "is not to be found"
says EPERM@4 1 "loading is not allowed"
says EINVAL@4 1 "flags, id or image header"
says ENOENT@4 1 "no instance with this id"
says EBUSY@4 0 "everything is as it was"
says ENOEXEC@4 1 "multikernel note"
says ENOMEM@4 1 "too small or in too many pieces"
says EADDRNOTAVAIL@4 1 "does not fit the instance's memory"
says EBADF@4 1 "cannot be read"
says EFBIG@4 1 "over 4 GiB"
says ETXTBSY@4 1 "open for writing"
says EIO@4 1 "from disk"
says EKEYREJECTED@4 1 "does not match a key"
says ENOKEY@4 1 "no key for"
says EBADMSG@4 1 "signature is damaged"
says ENODATA@4 1 "signed images only"
says load-dangling@4 1 "is left alone"
says EPERM@5 1 "CAP_SYS_BOOT"
says EINVAL@5 1 "initial PID namespace"
says ENOENT@5 1 "no instance with this id"
says EBUSY@5 0 "everything is as it was"
says ENODEV@5 1 "no parking area"
says ETIMEDOUT@5 1 "parking loop"
says ENOSPC@5 1 "does not fit its page"
says EFAULT@5 1 "power button"
says panic@5+0 1 "panicked"
says console-printk@5 0 "everything is as it was"
says pool-busy@9 0 "everything is as it was"

# Killed before and after every step: cleanup, in the same machine, brings everything back.
for when in kill-before kill-after; do
	for step in 1 2 3 4 5 6 7 8 9; do
		# shellcheck disable=SC2016 # the shell inside expands them
		sim 0 --strict "${small[@]}" --fault $when@$step -- bash -c \
			'"$MKSPLIT" try --kernel "$KERNEL"; [ $? = 137 ] || exit 9; "$MKSPLIT" cleanup' &&
			echo "ok: $when $step"
	done
done
exit $failed
