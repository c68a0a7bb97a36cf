#!/bin/bash
# shellcheck disable=SC2317,SC2086,SC2046,SC2016 # functions are called through the client; MK is a fixed path
# Each fault strikes at its step, and shows what it says. Steps of the client below: 1 baseline,
# 2 create, 3 load, 4 boot, then 5 and on what the section does.
# shellcheck source=tests/sim/lib.sh
. "$(dirname "$0")/lib.sh"

up() {
	"$CLIENT" mount >/dev/null
	blob "$work/b" <<<'/ { resources { cpus = /bits/ 64 <2 4 6>; memory@0 { size = /bits/ 64 <0x40000000>; }; }; };'
	blob "$work/c" <<<'/ { mk,resources = "up"; fragment@0 { target-path = "/instances"; __overlay__ {
		instance-create { instance-name = "west"; id = <1>; resources { memory-bytes = /bits/ 64 <0x10000000>;
		cpus = /bits/ 64 <2 4>; }; }; }; }; };'
	blob "$work/more" <<<'/ { mk,resources = "more"; fragment@0 { target-path = "/instances/west"; __overlay__ {
		cpu-add { cpu@6 { reg = /bits/ 64 <6>; }; }; }; }; };'
	baseline=$("$CLIENT" write $MK/device_tree "$work/b")
	create=$(overlay up "$work/c")
	load=$("$CLIENT" load 1 "$work/vmlinux" "$work/initrd" quiet)
	"$CLIENT" tty 1 12 >"$work/tty" &
	sleep 0.2
	boot=$("$CLIENT" boot 1)
}

status() {
	cat $MK/instances/west/status
}

cpus() { # what the spawn sees
	{ "$CLIENT" tty 1 1 & sleep 0.2; "$CLIENT" say 1 "cpus"; wait $!; } | grep online=
}

greets() {
	wait_for 10 grep -q ready "$work/tty"
}

client() {
	case $1 in
	kill-*)
		blob "$work/b" <<<'/ { resources { cpus = /bits/ 64 <2>; memory@0 { size = /bits/ 64 <0x40000000>; }; }; };'
		"$CLIENT" mount >/dev/null
		"$CLIENT" write $MK/device_tree "$work/b" >/dev/null 2>&1
		expect killed 137 $?
		expect "done" "$([ $1 = kill-after ] && echo 1 || echo 0)" "$(grep -c 'Multikernel Memory Pool' /proc/iomem)"
		finish ;;
	esac
	up
	case $1 in
	EBUSY) expect load -16 "$load" ;;
	overlay-fail) expect create failed "$create"
		expect nothing "" "$(ls $MK/instances)" ;;
	applied-without-cpus) expect create applied "$create"
		expect "no cpu" "" "$(fdtget -t x $MK/instances/west/device_tree /resources cpus 2>/dev/null)" ;;
	applied-but-error) expect baseline -12 "$baseline"
		expect "and yet" applied "$create" ;;
	blob-cut) expect create "" "$create" # its nonce is lost too
		expect failed failed "$(cat $MK/overlays/tx_2/status)" ;;
	tx-lost) expect create "" "$create"
		expect "and yet" active "$(status)" ;;
	pool-enomem) expect baseline -12 "$baseline" ;;
	pool-busy) expect baseline -16 "$baseline" ;;
	load-dangling) expect load -8 "$load"
		expect "poisoned: boot would crash" -5 "$boot" ;;
	boot-hang) expect boot 0 "$boot"
		sleep 1
		expect active active "$(status)"
		expect silence "" "$(cat "$work/tty")" ;;
	panic) greets
		wait_for 10 status_is west loaded || echo "FAIL: no panic"
		expect_match text "Kernel panic" "$(cat "$work/tty")" ;;
	silent-hang) greets
		sleep 1.5
		"$CLIENT" say 1 hi
		sleep 0.5
		expect active active "$(status)"
		expect silence 0 "$(grep -c hi "$work/tty")"
		expect force 0 "$("$CLIENT" force 1)"
		wait_for 5 status_is west loaded ;;
	halt-timeout) greets
		expect halt -110 "$("$CLIENT" halt 1)"
		expect active active "$(status)" ;;
	force-halt-late) greets
		expect force 0 "$("$CLIENT" force 1)"
		expect "still out" -16 "$("$CLIENT" boot 1)"
		sleep 1.2
		expect "parked" 0 "$("$CLIENT" boot 1)" ;;
	console-drop | console-printk) greets
		exec 5<>/dev/mktty
		echo 1 >&5
		echo flood >&5
		sleep 1
		text=$(dd bs=65536 count=1 <&5 2>/dev/null)
		if [ $1 = console-drop ]; then
			expect_match dropped '[1-9]' "$(awk 'length != 101 && length != 100' <<<"$text" | tail -n +2 | wc -l)"
		else
			expect_match printk "a kernel message in between" "$text"
		fi ;;
	console-dead) greets
		sleep 1.2
		"$CLIENT" say 1 hi
		sleep 0.5
		expect silence 0 "$(grep -c hi "$work/tty")"
		expect active active "$(status)" ;;
	move-timeout) greets
		expect move failed "$(overlay more "$work/more")" ;;
	cpu-late) greets
		expect move applied "$(overlay more "$work/more")"
		expect early online=0-1 "$(cpus)"
		sleep 1.5
		expect later online=0-2 "$(cpus)" ;;
	status-stale) greets
		expect stale loaded "$(status)"
		sleep 1.2
		expect true active "$(status)" ;;
	esac
	kill $(jobs -p) 2>/dev/null
	finish
}

if [ "${1:-}" = client ]; then
	client "$2"
fi
make_payload
run() { # run FAULT@STEP
	local out
	out=$(timeout -s KILL 100 "$MKSIM" --log "$work/log" --fault "$1" --topology "pack:2 [numa] core:4 pu:1" -- "$0" client "${1%@*}" 2>&1)
	expect "$1" ok "$(grep -v '^Killed' <<<"$out" | grep -v 'Killed  ')"
	expect_match "$1 is logged" "fault|freezes|panics" "$(cat "$work/log")"
}
for f in EBUSY@3 overlay-fail@2 applied-without-cpus@2 applied-but-error@1 blob-cut@2 tx-lost@2 pool-enomem@1 \
	pool-busy@1 load-dangling@3 boot-hang@4 panic@4+1 silent-hang@4+1 halt-timeout@5+1 force-halt-late@5+1 \
	console-drop@4 console-printk@4 console-dead@4+1 move-timeout@5+1 cpu-late@5+2 status-stale@4+1 kill-before@1 kill-after@1; do
	run $f
done
steps=$("$MKSIM" --list-steps -- sh -c '"$CLIENT" mount; "$CLIENT" boot 3' 2>&1 >/dev/null)
expect_match "list of steps" "^mksim: step 1 boot: id 3" "$steps"
finish
