#!/bin/bash
# shellcheck disable=SC2317,SC2086 # functions are called through the client; MK is a fixed path
# The refusals that docs/mklinux-abi.md names (3.4, 6.5, 8.8, 9, 10.1), each provoked.
# shellcheck source=tests/sim/lib.sh
. "$(dirname "$0")/lib.sh"

# CPUs 1-3 are 2 4 6, CPUs 4-7 are 128 130 132 134
topology="pack:2 [numa] core:4 pu:1"

base() { # base CPUS MEMORY-NODES...: a baseline
	blob "$work/b" <<<"/ { resources { cpus = /bits/ 64 <$1>; ${*:2} }; };"
	"$CLIENT" write $MK/device_tree "$work/b"
}

node0='memory@0 { size = /bits/ 64 <0x40000000>; numa-node-id = <0>; };'

# over TARGET OPERATIONS: status of the overlay, and the errno that the kernel log tells
over() {
	local nonce status
	nonce=$(date +%s%N)
	blob "$work/o" <<<"/ { mk,resources = \"$nonce\"; fragment@0 { target-path = \"$1\"; __overlay__ { $2 }; }; };"
	status=$(overlay "$nonce" "$work/o")
	echo "$status"
	# The kernel log says what write(2) does not.
	[ "$status" = failed ] && dd if=/dev/kmsg iflag=nonblock bs=8192 2>/dev/null |
		sed -n 's/.*Failed to apply overlay transaction [0-9]*: //p' | tail -n 1
}

create() { # create NAME ID CPUS [MORE]
	over /instances "instance-create { instance-name = \"$1\"; id = <$2>; resources {
		memory-bytes = /bits/ 64 <0x10000000>; cpus = /bits/ 64 <$3>; ${4:-} }; };"
}

failed() {
	printf 'failed\n%s' "$1"
}

baselines() {
	"$CLIENT" mount >/dev/null
	expect "no resources" -22 "$(blob "$work/b" <<<'/ { };'; "$CLIENT" write $MK/device_tree "$work/b")"
	expect "no cpus" -22 "$(blob "$work/b" <<<"/ { resources { $node0 }; };"; "$CLIENT" write $MK/device_tree "$work/b")"
	expect "no memory" -22 "$(base 2)"
	expect "memory as before" -22 "$(base 2 'memory-base = /bits/ 64 <0x100000>; memory-bytes = /bits/ 64 <0x100000>;')"
	expect "instances" -22 "$(blob "$work/b" <<<"/ { resources { cpus = /bits/ 64 <2>; $node0 }; instances { }; };"; "$CLIENT" write $MK/device_tree "$work/b")"
	expect "trailing bytes" -22 "$(base 2 "$node0" >/dev/null 2>&1; : ; head -c 20 /dev/zero >>"$work/b"; "$CLIENT" write $MK/device_tree "$work/b")"
}

baselines2() {
	"$CLIENT" mount >/dev/null
	expect "unknown cpu" -19 "$(base 99 "$node0")"
	expect "unknown node" -22 "$(base 2 'memory@0 { size = /bits/ 64 <0x40000000>; numa-node-id = <9>; };')"
	head -c 1048700 /dev/zero >"$work/big"
	expect "more than 1 MiB" -22 "$("$CLIENT" write $MK/device_tree "$work/big")"
	expect "no room" -12 "$(base 2 'memory@0 { size = /bits/ 64 <0x7000000000>; };')"
	# The boot CPU cannot leave; the others did: half a pool.
	expect "boot cpu" -16 "$(base "0 2" "$node0")"
	expect "half a pool" "0 2" "$(fdtget -t x $MK/device_tree /resources cpus-available)"
	expect "second baseline" -16 "$(base 4 "$node0")"
}

overlays() {
	"$CLIENT" mount >/dev/null
	expect "pool without a pool" "$(failed -1)" "$(over /resources 'cpu-add { cpu@2 { reg = /bits/ 64 <2>; }; };')"
	expect "baseline" 0 "$(($(base "2 4 6" "$node0") < 0))"
	expect "create" applied "$(create west 1 "2 4")"
	expect "same name" "$(failed -17)" "$(create west 2 6)"
	expect "same id" "$(failed -17)" "$(create east 1 6)"
	expect "id of the host" "$(failed -17)" "$(create east 0 6)"
	expect "no memory" "$(failed -12)" "$(over /instances 'instance-create { instance-name = "big"; id = <5>; resources { memory-bytes = /bits/ 64 <0x80000000>; }; };')"
	# The trap of 6.8: applied, and no CPU at all.
	expect "cpu is not free" applied "$(create trap 3 "6 2")"
	expect "no cpu at all" "" "$(fdtget -t x $MK/instances/trap/device_tree /resources cpus 2>/dev/null)"
	expect "unknown instance" "$(failed -2)" "$(over /instances/nobody 'cpu-add { cpu@6 { reg = /bits/ 64 <6>; }; };')"
	expect "remove unknown" "$(failed -2)" "$(over /instances 'instance-remove { instance-name = "nobody"; };')"
	expect "busy cpu" "$(failed -16)" "$(over /resources 'cpu-remove { cpu@2 { reg = /bits/ 64 <2>; }; };')"
	expect "cpu is in the pool" "$(failed -22)" "$(over /resources 'cpu-add { cpu@6 { reg = /bits/ 64 <6>; }; };')"
	expect "chunk in use" "$(failed -16)" "$(over /resources "memory-remove { memory@0 { reg = $(awk '/Multikernel Memory Pool/ { split($1, a, "-"); print "/bits/ 64 <0x" a[1] " 0x40000000>" }' /proc/iomem); }; };")"
	expect "no such chunk" "$(failed -2)" "$(over /resources 'memory-remove { memory@0 { reg = /bits/ 64 <0x1000 0x1000>; }; };')"
	expect "bad target" "$(failed -22)" "$(over /nowhere '')"
	expect "mixed" "$(failed -22)" "$(over /resources 'instance-remove { instance-name = "west"; };')"
	expect "load" 0 "$("$CLIENT" load 1 "$work/vmlinux" "$work/initrd" quiet)"
	expect "remove loaded" "$(failed -16)" "$(over /instances 'instance-remove { instance-name = "west"; };')"
	expect "boot" 0 "$("$CLIENT" boot 1)"
	expect "boot cpu" "$(failed -22)" "$(over /instances/west 'cpu-remove { cpu@2 { reg = /bits/ 64 <2>; }; };')"
	expect "host cpu into the pool" applied "$(over /resources 'cpu-add { cpu@80 { reg = /bits/ 64 <128>; }; };')"
	wanted=$(failed -19)
	[ "$ABI" = g2b ] && wanted=applied # later ones know the host's CPUs too
	expect "cpu unknown at boot" "$wanted" "$(over /instances/west 'cpu-add { cpu@80 { reg = /bits/ 64 <128>; }; };')"
	expect "offset" -22 "$(dd if="$work/o" of=$MK/overlays/new bs=1 seek=8 count=64 oflag=seek_bytes conv=notrunc 2>&1 | grep -q 'Invalid argument' && echo -22)"
	expect "no blob" -22 "$(printf 'hello' >"$work/x"; "$CLIENT" write $MK/overlays/new "$work/x")"
	expect "mkdir" 1 "$(mkdir $MK/instances/x 2>/dev/null; echo $?)"
	probe=$(LC_ALL=C rmdir $MK/overlays 2>&1)
	expect_match "rmdir probe" "$([ "$ABI" = g2b ] && echo 'not permitted' || echo 'Invalid argument')" "$probe"
}

loads() {
	"$CLIENT" mount >/dev/null
	base "2 4 6" "$node0" >/dev/null
	create west 1 2 >/dev/null
	over /instances 'instance-create { instance-name = "empty"; id = <2>; resources {
		memory-bytes = /bits/ 64 <0x10000000>; }; };' >/dev/null
	L() { "$CLIENT" loadflags "$1" "${2:-$work/vmlinux}" "${3:-$work/initrd}" quiet; }
	expect "no multikernel flag" -1 "$(L 0x0)"
	expect "unknown flag" -22 "$(L 0x10030)"
	expect "id 0" -22 "$(L 0x10)"
	expect "crash flag" -22 "$(L 0x32)"
	expect "no such id" -2 "$(L 0x130)"
	expect "nothing to unload" -2 "$("$CLIENT" unload 1)"
	expect "load" 0 "$(L 0x30)"
	expect "load twice" -16 "$(L 0x30)"
	expect "boot without cpu" -22 "$(L 0x50 >/dev/null; "$CLIENT" boot 2)"
	expect "unload" 0 "$("$CLIENT" unload 1)"
	expect "boot without image" -22 "$("$CLIENT" boot 1)"
	expect "boot unknown" "$([ "$ABI" = g2b ] && echo -2 || echo -22)" "$("$CLIENT" boot 7)"
	expect "halt unknown" -2 "$("$CLIENT" halt 7)"
	expect "halt ready" -22 "$("$CLIENT" halt 1)"
	expect "force halt ready" -22 "$("$CLIENT" force 1)"
	expect "bad magic" -22 "$("$CLIENT" reboot 1 2 0x4D4B4C49 1)"
	expect "nested pid namespace" -22 "$(unshare --pid --fork "$CLIENT" boot 1)"
	expect "without privilege" -1 "$(setpriv --bounding-set -sys_boot --inh-caps -sys_boot "$CLIENT" boot 1)"
	expect "load without privilege" -1 "$(setpriv --bounding-set -sys_boot --inh-caps -sys_boot "$CLIENT" load 1 "$work/vmlinux" "$work/initrd" x)"
	expect "not an ELF" -8 "$(L 0x30 "$work/initrd")"
	expect "poisoned" -16 "$(L 0x30)"
}

limits() {
	"$CLIENT" mount >/dev/null
	base "2 4 6" "$node0" >/dev/null
	create west 1 2 >/dev/null
	expect "limit" 2 "$(cat /proc/sys/kernel/kexec_load_limit_reboot)"
	expect "first" 0 "$("$CLIENT" load 1 "$work/vmlinux" "$work/initrd" x)"
	expect "unload counts" 0 "$("$CLIENT" unload 1)"
	expect "used up" -1 "$("$CLIENT" load 1 "$work/vmlinux" "$work/initrd" x)"
}

run() { # run SECTION MKSIM-ARGUMENT...
	local out
	out=$(timeout -s KILL 120 "$MKSIM" --log "$work/log" --abi "$ABI" --topology "$topology" "${@:2}" -- "$0" client "$1" 2>&1)
	expect "$1 $ABI" ok "$out"
}

if [ "${1:-}" = client ]; then
	"$2"
	finish
fi
make_payload
for ABI in g2a g2b; do
	export ABI
	for section in baselines baselines2 overlays loads; do
		run $section
	done
done
run limits --load-limit 2
finish
