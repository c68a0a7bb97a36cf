#!/bin/bash
# shellcheck disable=SC2317,SC2086 # functions are called through the client; MK is a fixed path
# Whatever the arguments: no kexec and no reboot call of a client or a spawn reaches the real
# kernel. Every command that could stop this machine is tried from inside.
# shellcheck source=tests/sim/lib.sh
. "$(dirname "$0")/lib.sh"

client() {
	for cmd in 0x01234567 0xCDEF0123 0x4321FEDC 0xA1B2C3D4 0xD000FCE2 0x45584543 0x4D4B4C49 0xffffffff; do
		for magic in 672274793 85072278 369367448 537993216 1; do
			expect_match "reboot $cmd $magic" '^-(1|22|2)$' "$("$CLIENT" reboot 0xfee1dead $magic $cmd 1)"
		done
	done
	for cmd in 0x89ABCDEF 0; do # what Ctrl-Alt-Del does: accepted, and forgotten
		expect "ctrl-alt-del" 0 "$("$CLIENT" reboot 0xfee1dead 672274793 $cmd 1)"
	done
	for flags in 0 1 2 4 8 0x30 0x34 0xffff 0xffffffff; do
		expect_match "kexec_file_load $flags" '^-[0-9]+$' \
			"$("$CLIENT" loadflags $flags "$work/vmlinux" "$work/initrd" x)"
		expect "kexec_load $flags" -1 "$("$CLIENT" kexec_load $flags)"
	done
	"$CLIENT" foreign || expect foreign 0 1
	echo "not stopped"
	finish
}

if [ "${1:-}" = client ]; then
	client
fi
make_payload
before=$(cat /proc/sys/kernel/random/boot_id) loaded=$(cat /sys/kernel/kexec_loaded 2>/dev/null)
out=$(timeout -s KILL 60 "$MKSIM" --log "$work/log" -- "$0" client 2>&1)
expect output $'not stopped\nok' "$out"
expect "the same boot" "$before" "$(cat /proc/sys/kernel/random/boot_id)"
expect "nothing loaded" "$loaded" "$(cat /sys/kernel/kexec_loaded 2>/dev/null)"
finish
