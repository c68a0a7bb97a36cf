#!/bin/bash
# shellcheck disable=SC2317,SC2086 # functions are called through the client; MK is a fixed path
# What the real kernel would silently misread or ignore, or not survive, is an error of
# strict mode with exit status 3; what is right is none.
# shellcheck source=tests/sim/lib.sh
. "$(dirname "$0")/lib.sh"

topology="pack:2 [numa] core:4 pu:1"

put() { # put FILE: the blob on standard input
	blob "$work/s"
	"$CLIENT" write "$MK/$1" "$work/s" >/dev/null
}

pool() {
	"$CLIENT" mount >/dev/null
	put device_tree <<<'/ { resources { cpus = /bits/ 64 <2 4 6>; memory@0 { size = /bits/ 64 <0x40000000>; }; }; };'
}

over() { # over TARGET OPERATIONS [NONCE-PROPERTY]
	put overlays/new <<<"/ { ${3:-} fragment@0 { target-path = \"$1\"; __overlay__ { $2 }; }; };"
}

create() {
	over /instances "instance-create { instance-name = \"west\"; ${1:-id = <1>;} resources {
		memory-bytes = /bits/ 64 <0x10000000>; ${2:-cpus = /bits/ 64 <2 4>;} }; };"
}

back() { # the machine as it was
	over /instances 'instance-remove { instance-name = "west"; };'
	over /resources 'cpu-remove { cpu@2 { reg = /bits/ 64 <2>; }; cpu@4 { reg = /bits/ 64 <4>; }; cpu@6 { reg = /bits/ 64 <6>; }; };'
	over /resources "memory-remove { memory@0 { reg = $(awk '/Multikernel Memory Pool/ { split($1, a, "-"); print "/bits/ 64 <0x" a[1] " 0x40000000>" }' /proc/iomem); }; };"
}

scenario() {
	pool
	case $1 in
	right) create ;;
	left) return ;;
	u32-cpu) over /resources 'cpu-add { cpu@80 { reg = <128>; }; }; '; over /resources 'cpu-remove { cpu@80 { reg = /bits/ 64 <128>; }; };' ;;
	typo) over /resources 'cpu-add { core@80 { reg = /bits/ 64 <128>; }; };' ;;
	property) create 'id = <1>; colour = "red";' ;;
	addressing) put overlays/new <<<'/ { fragment@0 { __overlay__ { instance-create { instance-name = "x"; resources { }; }; }; }; };' ;;
	id-ignored) create 'id = /bits/ 64 <1>;' ;;
	two-nodes) create 'id = <1>;' 'numa-nodes = <0 1>; cpus = /bits/ 64 <2 4>;' ;;
	over-a-page)
		over /resources "cpu-remove { $(seq -f 'cpu@%.0f { reg = /bits/ 64 <99>; };' 1000 1200) };" ;;
	rmdir) create; rmdir $MK/overlays/tx_2 2>/dev/null; [ "$ABI" = g2b ] && create ;;
	rmdir-instance) create; rmdir $MK/instances/west 2>/dev/null ;;
	memory-operation) create; over /instances/west 'memory-add { memory@0 { reg = /bits/ 64 <0x1000 0x1000>; }; };' ;;
	plain-kexec) "$CLIENT" loadflags 0 "$work/vmlinux" "$work/initrd" x >/dev/null ;;
	bad-pointer) "$CLIENT" badpointer 0x4D4B4C49 >/dev/null ;;
	truncated) create; head -c 4100 "$work/vmlinux" >"$work/cut"; "$CLIENT" load 1 "$work/cut" "$work/initrd" x >/dev/null ;;
	big-initrd) create; truncate -s 300M "$work/big"; "$CLIENT" load 1 "$work/vmlinux" "$work/big" x >/dev/null ;;
	unload-active) create; "$CLIENT" load 1 "$work/vmlinux" "$work/initrd" x >/dev/null
		"$CLIENT" boot 1 >/dev/null; "$CLIENT" unload 1 >/dev/null ;;
	after-failed-load) create; "$CLIENT" load 1 "$work/initrd" "$work/initrd" x >/dev/null; "$CLIENT" unload 1 >/dev/null ;;
	data-after-id) create; printf '1\nhello\n' >"$work/line"
		dd if="$work/line" of=/dev/mktty bs=64 conv=notrunc 2>/dev/null ;;
	esac
	back 2>/dev/null
	true
}

if [ "${1:-}" = client ]; then
	scenario "$2"
	exit 0
fi
make_payload
for ABI in g2a g2b; do
	export ABI
	run() { # run SCENARIO STATUS TEXT
		out=$(timeout -s KILL 60 "$MKSIM" --strict --abi $ABI --log "$work/log" --topology "$topology" -- "$0" client "$1" 2>&1)
		expect "$ABI $1: status ($out)" "$2" $?
		[ -z "$3" ] || expect_match "$ABI $1" "$3" "$out"
	}
	run right 0 ""
	run left 3 "3 CPUs belong to the pool"
	run u32-cpu 3 "reg \(4 bytes\) is not an 8-byte number"
	run typo 3 "core@80: node is ignored"
	run property 3 "property colour is ignored"
	run addressing 3 "no target-path"
	run id-ignored 3 "id is ignored"
	run two-nodes 3 "more entries than the first"
	run over-a-page 3 "cut to one page"
	run rmdir 3 "rmdir of"
	run rmdir-instance 3 "rmdir of instance west"
	run memory-operation 3 "memory operation on instance west"
	run plain-kexec 3 "without the multikernel flag"
	run bad-pointer 3 "bad pointer"
	run truncated 3 "outside of the file"
	run big-initrd 3 "does not fit instance west"
	run unload-active 3 "while it is active"
	run after-failed-load 3 "after a failed load"
	run data-after-id 3 "6 bytes behind the id"
done
finish
