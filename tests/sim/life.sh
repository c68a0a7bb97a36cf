#!/bin/bash
# shellcheck disable=SC2317,SC2086 # functions are called through the client; MK is a fixed path
# Spawns live and die as docs/mklinux-abi.md 9 says; the console of 10.1; and mksim leaves
# nothing behind, even when it is killed.
# shellcheck source=tests/sim/lib.sh
. "$(dirname "$0")/lib.sh"

topology="pack:2 [numa] core:4 pu:1"

up() { # a pool and the instance "west" with CPUs 2 and 4, loaded
	"$CLIENT" mount >/dev/null
	blob "$work/b" <<<'/ { resources { cpus = /bits/ 64 <2 4 6>; memory@0 { size = /bits/ 64 <0x40000000>; }; }; };'
	blob "$work/c" <<<'/ { mk,resources = "up"; fragment@0 { target-path = "/instances"; __overlay__ {
		instance-create { instance-name = "west"; id = <1>; resources { memory-bytes = /bits/ 64 <0x10000000>;
		cpus = /bits/ 64 <2 4>; }; }; }; }; };'
	"$CLIENT" write $MK/device_tree "$work/b" >/dev/null
	overlay up "$work/c" >/dev/null
	"$CLIENT" load 1 "$work/vmlinux" "$work/initrd" "${1:-quiet}" >/dev/null
}

boot() { # boots and waits for the greeting; the console goes to $work/tty
	"$CLIENT" tty 1 30 >"$work/tty" &
	tty=$!
	sleep 0.2
	expect boot 0 "$("$CLIENT" boot 1)"
	wait_for 20 grep -q ready "$work/tty" || echo "FAIL no greeting"
}

stops() {
	up
	boot
	expect active active "$(cat $MK/instances/west/status)"
	expect "boot while active" -16 "$("$CLIENT" boot 1)"
	expect halt 0 "$("$CLIENT" halt 1)"
	expect halted loaded "$(cat $MK/instances/west/status)"
	expect "halt again" -22 "$("$CLIENT" halt 1)"
	kill $tty
	boot
	expect force 0 "$("$CLIENT" force 1)"
	expect forced loaded "$(cat $MK/instances/west/status)"
	expect "force again" 0 "$("$CLIENT" force 1)"
	sleep 1
	kill $tty
	boot
	"$CLIENT" say 1 exit
	wait_for 10 status_is west loaded || echo "FAIL: panic does not stop"
	expect_match panic "Attempted to kill init" "$(cat "$work/tty")"
	kill $tty
	boot
	"$CLIENT" say 1 off
	wait_for 10 status_is west loaded || echo "FAIL: power off does not stop"
	kill $tty
	expect_match "quiet" "^hello" "$(head -n 1 "$work/tty")"
}

console() {
	up console=mktty0
	expect "no number" -22 "$("$CLIENT" tty x)"
	expect "no instance" -19 "$("$CLIENT" tty 9)"
	boot
	expect_match "kernel messages" "Linux version" "$(cat "$work/tty")"
	# The newest connection receives; when it closes the older one takes over.
	"$CLIENT" tty 1 2 >"$work/newer" &
	newer=$!
	sleep 0.3
	"$CLIENT" say 1 "one"
	wait $newer
	"$CLIENT" say 1 "later echo two"
	wait_for 5 grep -q "echo two" "$work/tty" || echo "FAIL: the older one does not take over"
	expect "one reader" 0 "$(grep -c "echo one" "$work/tty")"
	kill $tty
	# A ring holds 16383 bytes, what is newer is lost without notice.
	exec 5<>/dev/mktty
	echo 1 >&5
	echo flood >&5
	sleep 2
	expect ring 16383 "$(dd bs=65536 count=1 <&5 2>/dev/null | wc -c)"
	exec 5<&-
	"$CLIENT" force 1 >/dev/null
}

affinity() {
	expect "pinned" "count 1 cpu 5" "$("$CLIENT" affinity 5)"
	expect "heirs" 0 "$("$CLIENT" heirs)"
	up
	expect "gone" -22 "$("$CLIENT" affinity 1)"
	expect "rest" 5 "$(nproc)"
	expect "release" "$WANT_RELEASE" "$(uname -r)"
}

linger() {
	up
	boot
	sleep 1000 &
	echo "$$" >"$work/up"
	sleep 1000
}

if [ "${1:-}" = client ]; then
	"$2"
	finish
fi
make_payload
for abi in g2a g2b; do
	export WANT_RELEASE=7.0.0-mk2
	[ $abi = g2b ] && WANT_RELEASE=7.0.0-mk5
	for section in stops console affinity; do
		out=$(timeout -s KILL 100 "$MKSIM" --abi $abi --log "$work/log" --topology "$topology" -- "$0" client $section 2>&1)
		expect "$section $abi" ok "$out"
	done
done

# The client's status is passed on.
"$MKSIM" -- sh -c 'exit 5'
expect "exit status" 5 $?
"$MKSIM" -- sh -c 'kill -9 $$'
expect "signal" 137 $?
"$MKSIM" -- /no/such/program 2>/dev/null
expect "no program" 127 $?
"$MKSIM" --topology nonsense -- true 2>/dev/null
expect "bad topology" 2 $?

# SIGKILL of mksim takes everything along.
mounts=$(wc -l </proc/self/mountinfo)
"$MKSIM" --topology "$topology" -- "$0" client linger >/dev/null 2>&1 &
sim=$!
wait_for 30 test -e "$work/up" || echo "FAIL: the client does not come up"
children() {
	grep -lE "^PPid:\s$1$" /proc/[0-9]*/status 2>/dev/null | cut -d/ -f3
}
family=
queue=$sim
while [ -n "$queue" ]; do
	next=
	for p in $queue; do
		kids=$(children "$p")
		family="$family $kids"
		next="$next $kids"
	done
	queue=${next#"${next%%[! ]*}"}
done
expect_match "family" '([0-9]+ *){5,}' "$family"
kill -9 $sim
wait $sim 2>/dev/null
gone() {
	local p
	for p in $family; do
		[ ! -e "/proc/$p" ] || return 1
	done
}
wait_for 10 gone || expect "nobody left" "" "$(for p in $family; do ps -o pid=,comm= -p "$p"; done)"
expect "mounts" "$mounts" "$(wc -l </proc/self/mountinfo)"
finish
