#!/bin/bash
# shellcheck disable=SC2317,SC2086 # functions are called through the client; MK is a fixed path
# The worked example of docs/mklinux-abi.md section 15 (G2), step by step and accepted by
# strict mode: pool, two instances, four CPUs moved between running kernels, all given back.
# shellcheck source=tests/sim/lib.sh
. "$(dirname "$0")/lib.sh"

west="8 10 12 14 16 18 20 22 24 26 28 30 32 34 36 38 40 42 44 46"
east="128 130 132 134 136 138 140 142 144 146 148 150 152 154 156 158 160 162 164 166 168 170 172 174"

items() { # items ID...: cpu@ nodes
	local id
	for id; do
		printf 'cpu@%x { reg = /bits/ 64 <%d>; }; ' "$id" "$id"
	done
}

client() {
	# shellcheck disable=SC2086
	{
	blob "$work/base" <<-DTS
		/ { compatible = "multikernel-v1"; resources { cpus = /bits/ 64 <$west $east>;
		memory@0 { size = /bits/ 64 <0x500000000>; numa-node-id = <0>; };
		memory@1 { size = /bits/ 64 <0x500000000>; numa-node-id = <1>; }; }; };
	DTS
	blob "$work/west" <<-DTS
		/ { mk,resources = "ctl-0001"; fragment@0 { target-path = "/instances"; __overlay__ {
		instance-create { instance-name = "west"; id = <1>; resources {
		memory-bytes = /bits/ 64 <0x400000000>; numa-nodes = <0>; cpus = /bits/ 64 <$west>; }; }; }; }; };
	DTS
	blob "$work/east" <<-DTS
		/ { mk,resources = "ctl-0002"; fragment@0 { target-path = "/instances"; __overlay__ {
		instance-create { instance-name = "east"; id = <2>; resources {
		memory-bytes = /bits/ 64 <0x400000000>; numa-nodes = <1>; cpus = /bits/ 64 <$east>; }; }; }; }; };
	DTS
	blob "$work/take" <<-DTS
		/ { mk,resources = "ctl-0003"; fragment@0 { target-path = "/instances/east"; __overlay__ {
		cpu-remove { $(items 168 170 172 174) }; }; }; };
	DTS
	blob "$work/give" <<-DTS
		/ { mk,resources = "ctl-0004"; fragment@0 { target-path = "/instances/west"; __overlay__ {
		cpu-add { $(items 168 170 172 174) }; }; }; };
	DTS
	blob "$work/cpus" <<-DTS
		/ { mk,resources = "ctl-0007"; fragment@0 { target-path = "/resources"; __overlay__ {
		cpu-remove { $(items $west $east) }; }; }; };
	DTS
	}
	for i in west:5 east:6; do
		blob "$work/remove-${i%:*}" <<-DTS
			/ { mk,resources = "ctl-000${i#*:}"; fragment@0 { target-path = "/instances"; __overlay__ {
			instance-remove { instance-name = "${i%:*}"; }; }; }; };
		DTS
	done
	expect online-before 0-47 "$(cat /sys/devices/system/cpu/online)"
	expect mount 0 "$("$CLIENT" mount)"
	expect second-mount -16 "$("$CLIENT" mount)"
	expect baseline "$(stat -c %s "$work/base")" "$("$CLIENT" write $MK/device_tree "$work/base")"
	expect online-pool 0-3 "$(cat /sys/devices/system/cpu/online)"
	expect cpuinfo 4 "$(grep -c ^processor /proc/cpuinfo)"
	expect pool-lines 2 "$(grep -c 'Multikernel Memory Pool' /proc/iomem)"
	expect free-cpus 44 "$(fdtget -t x $MK/device_tree /resources cpus-available | wc -w | awk '{print $1/2}')"
	expect west applied "$(overlay ctl-0001 "$work/west")"
	expect east applied "$(overlay ctl-0002 "$work/east")"
	expect first-tx 2 "$(cat $MK/overlays/tx_*/id | sort -n | head -n 1)"
	expect west-id 1 "$(cat $MK/instances/west/id)"
	expect west-status ready "$(cat $MK/instances/west/status)"
	expect_match west-iomem mk-instance-1-west-region-0 "$(cat /proc/iomem)"
	expect west-bytes "4 0" "$(fdtget -t x $MK/instances/west/device_tree /resources memory-bytes)"
	"$CLIENT" tty 1 8 >"$work/west.log" &
	w=$!
	"$CLIENT" tty 2 8 >"$work/east.log" &
	e=$!
	cl="console=mktty0 quiet loglevel=1 rdinit=/init"
	expect load-west 0 "$("$CLIENT" loadflags 0x30 "$work/vmlinux" "$work/initrd" "$cl")"
	expect load-east 0 "$("$CLIENT" loadflags 0x50 "$work/vmlinux" "$work/initrd" "$cl")"
	expect west-loaded loaded "$(cat $MK/instances/west/status)"
	expect boot-west 0 "$("$CLIENT" boot 1)"
	expect boot-east 0 "$("$CLIENT" boot 2)"
	expect west-active active "$(cat $MK/instances/west/status)"
	wait_for 20 grep -q ready "$work/west.log" || echo "FAIL: west does not greet"
	wait_for 20 grep -q ready "$work/east.log" || echo "FAIL: east does not greet"
	kill $w $e
	expect_match west-cpus 'online=0-19' "$(cat "$work/west.log")"
	expect_match east-cpus 'online=0-23' "$(cat "$work/east.log")"
	expect_match clock 'uptime=fresh' "$(cat "$work/east.log")"
	expect_match cmdline "cmdline=$cl" "$(cat "$work/east.log")"
	expect take applied "$(overlay ctl-0003 "$work/take")"
	expect_match free "a8 .*aa .*ac .*ae" "$(fdtget -t x $MK/device_tree /resources cpus-available)"
	expect give applied "$(overlay ctl-0004 "$work/give")"
	expect west-count 24 "$(fdtget -t x $MK/instances/west/device_tree /resources cpus | wc -w | awk '{print $1/2}')"
	sleep 0.1
	expect_match west-sees "^apics=.*,46,168,170,172,174,$" "$("$CLIENT" tty 1 2 & sleep 0.3; "$CLIENT" say 1 cpus; wait $!)"
	"$CLIENT" say 1 off
	"$CLIENT" say 2 off
	wait_for 10 status_is west loaded || expect west-off loaded "$(cat $MK/instances/west/status)"
	wait_for 10 status_is east loaded || expect east-off loaded "$(cat $MK/instances/east/status)"
	expect unload-west 0 "$("$CLIENT" unload 1)"
	expect unload-east 0 "$("$CLIENT" unload 2)"
	expect west-ready ready "$(cat $MK/instances/west/status)"
	expect remove-west applied "$(overlay ctl-0005 "$work/remove-west")"
	expect remove-east applied "$(overlay ctl-0006 "$work/remove-east")"
	expect cpus-home applied "$(overlay ctl-0007 "$work/cpus")"
	expect online-after 0-47 "$(cat /sys/devices/system/cpu/online)"
	blob "$work/memory" <<-DTS
		/ { mk,resources = "ctl-0008"; fragment@0 { target-path = "/resources"; __overlay__ { memory-remove {
		$(n=0; sed -n 's/^ *\([0-9a-f]*\)-[0-9a-f]* : Multikernel Memory Pool/\1/p' /proc/iomem |
			while read -r base; do
				echo "memory@$n { reg = /bits/ 64 <0x$base 0x500000000>; };"
				n=$((n + 1))
			done) }; }; }; };
	DTS
	expect memory-home applied "$(overlay ctl-0008 "$work/memory")"
	expect no-pool 0 "$(grep -c 'Multikernel Memory Pool' /proc/iomem)"
	finish
}

if [ "${1:-}" = client ]; then
	client
fi
make_payload
for abi in g2a g2b; do
	out=$("$MKSIM" --strict --log "$work/log" --abi $abi --topology "pack:2 numa:1 core:24 pu:1" -- "$0" client 2>&1)
	expect "$abi status" 0 $?
	expect "$abi output" ok "$out"
	expect_match "$abi machine" "the machine is as it was" "$(cat "$work/log")"
done
finish
