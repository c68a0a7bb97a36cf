#!/bin/bash
# shellcheck disable=SC2317,SC2086,SC2046 # functions are called through the client; MK is a fixed path
# --spawn qemu: two guests of two CPUs with real kernels side by side, stopped in an orderly
# way, by halt, and by the end of mksim.
# shellcheck source=tests/sim/lib.sh
. "$(dirname "$0")/lib.sh"
command -v qemu-system-x86_64 >/dev/null || skip "needs qemu-system-x86_64"
compgen -G '/boot/vmlinuz-*' >/dev/null || skip "needs a kernel in /boot"

client() {
	"$CLIENT" mount >/dev/null
	blob "$work/b" <<<'/ { resources { cpus = /bits/ 64 <2 4 128 130>; memory@0 { size = /bits/ 64 <0x40000000>; }; }; };'
	"$CLIENT" write $MK/device_tree "$work/b" >/dev/null
	for i in "1 west 2 4" "2 east 128 130"; do
		set -- $i
		blob "$work/c" <<<"/ { mk,resources = \"$2\"; fragment@0 { target-path = \"/instances\"; __overlay__ {
			instance-create { instance-name = \"$2\"; id = <$1>; resources { memory-bytes = /bits/ 64 <0x18000000>;
			cpus = /bits/ 64 <$3 $4>; }; }; }; }; };"
		expect "create $2" applied "$(overlay $2 "$work/c")"
		expect "load $2" 0 "$("$CLIENT" load $1 "$work/vmlinux" "$work/initrd" "console=mktty0 quiet")"
		"$CLIENT" tty $1 200 >"$work/$2" &
	done
	expect "boot west" 0 "$("$CLIENT" boot 1)"
	expect "boot east" 0 "$("$CLIENT" boot 2)"
	for i in west east; do
		wait_for 150 grep -q ready "$work/$i" || expect "$i greets" ready "$(tail -n 5 "$work/$i")"
		expect_match "$i has two CPUs" 'online=0-1' "$(cat "$work/$i")"
		expect_match "$i is a kernel of its own" 'pid=1' "$(cat "$work/$i")"
	done
	"$CLIENT" say 1 off
	wait_for 60 status_is west loaded || expect "power off" loaded "$(cat $MK/instances/west/status)"
	expect "halt" 0 "$("$CLIENT" halt 2)"
	expect "halted" loaded "$(cat $MK/instances/east/status)"
	expect "boot again" 0 "$("$CLIENT" boot 2)"
	kill $(jobs -p)
	finish
}

if [ "${1:-}" = client ]; then
	client
fi
make_payload
out=$("$MKSIM" --log "$work/log" --spawn qemu --topology "pack:2 [numa] core:4 pu:1" -- "$0" client 2>&1)
expect output ok "$out"
finish
