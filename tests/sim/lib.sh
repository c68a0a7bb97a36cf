# shellcheck shell=bash
# For the tests of mksim: source it. Needs root, BUILD (a build folder) or MKSIM.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
BUILD=${BUILD:-$here/../../build}
MKSIM=${MKSIM:-$BUILD/sim/mksim}
CLIENT=$BUILD/tests/sim/sim-client
MK=/sys/fs/multikernel
failures=0
export MKSIM CLIENT MK BUILD here

skip() {
	echo "$*"
	exit 77
}
[ "$(id -u)" -eq 0 ] || skip "needs root"
[ -e /dev/fuse ] || skip "needs /dev/fuse"
command -v dtc >/dev/null || skip "needs dtc"
command -v cpio >/dev/null || skip "needs cpio"
[ -x "$CLIENT" ] || { echo "no $CLIENT"; exit 1; }

# expect NAME WANTED GOT
expect() {
	if [ "$2" != "$3" ]; then
		echo "FAIL $1: wanted '$2', got '$3'"
		failures=$((failures + 1))
	fi
}

# expect_match NAME EXTENDED-REGEX TEXT
expect_match() {
	if ! grep -qE -- "$2" <<<"$3"; then
		echo "FAIL $1: no '$2' in: $3"
		failures=$((failures + 1))
	fi
}

finish() {
	[ "$failures" -eq 0 ] && echo "ok"
	exit $((failures > 0))
}

# blob FILE: device-tree source from standard input
blob() {
	{ echo "/dts-v1/;"; cat; } | dtc -q -I dts -O dtb -o "$1" || exit 1
}

# In the client: overlay NONCE FILE writes it and prints what its transaction says.
overlay() {
	local tx
	"$CLIENT" write $MK/overlays/new "$2" >/dev/null || return 1
	for tx in "$MK"/overlays/tx_*; do
		[ "$(cat "$tx/resources" 2>/dev/null)" = "$1" ] && cat "$tx/status"
	done
}

# wait_for SECONDS COMMAND...: until it succeeds
wait_for() {
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.05
	done
}

status_is() {
	[ "$(cat "$MK/instances/$1/status" 2>/dev/null)" = "$2" ]
}

# A folder with a stand-in kernel and an initramfs.
make_payload() {
	work=$(mktemp -d) || exit 1
	trap 'rm -rf "$work"' EXIT
	export work
	"$MKSIM" --write-kernel "$work/vmlinux" || exit 1
	cp "$BUILD/tests/sim/sim-init" "$work/init"
	(cd "$work" && echo init | cpio -o -H newc --quiet >initrd) || exit 1
}
