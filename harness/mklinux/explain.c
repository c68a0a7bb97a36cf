// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/mklinux/explain.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct row {
	enum mk_call call;
	int errnum;
	bool retry;
	const char *sentence;
};

static const char *const call_names[MK_NCALLS] = {
	[MK_CALL_MOUNT] = "mounting the multikernel file system",
	[MK_CALL_BASELINE] = "giving resources to the pool",
	[MK_CALL_OVERLAY_WRITE] = "writing the overlay",
	[MK_CALL_OVERLAY] = "the overlay",
	[MK_CALL_LOAD] = "kexec_file_load",
	[MK_CALL_UNLOAD] = "unloading with kexec_file_load",
	[MK_CALL_BOOT] = "booting with reboot(2)",
	[MK_CALL_HALT] = "halting with reboot(2)",
	[MK_CALL_FORCE_HALT] = "halting by force with reboot(2)",
	[MK_CALL_CONSOLE] = "the console /dev/mktty",
};

static const struct row rows[] = {
	{MK_CALL_MOUNT, EPERM, false, "run mksplit as root (CAP_SYS_ADMIN), outside of containers"},
	{MK_CALL_MOUNT, ENODEV, false,
	 "this kernel has no multikernel file system: boot a kernel with CONFIG_MULTIKERNEL=y"},
	{MK_CALL_MOUNT, ENOENT,
	 false, "/sys/fs/multikernel is not there: boot a kernel with CONFIG_MULTIKERNEL=y, with sysfs mounted"},
	{MK_CALL_MOUNT, EBUSY, false,
	 "it is mounted already, maybe at another place: see `grep multikernel /proc/mounts`"},

	{MK_CALL_BASELINE, EINVAL, false,
	 "the kernel rejects the tree itself: it may speak another generation of the ABI than was "
	 "detected; attach the transcript of `mksplit try` to a report"},
	{MK_CALL_BASELINE, E2BIG, false,
	 "more pieces of memory than the kernel knows NUMA nodes: ask for fewer, larger chunks"},
	{MK_CALL_BASELINE, ENODEV, false,
	 "a CPU with this physical id is not present: it was taken offline or given away since the "
	 "topology was read; bring all CPUs online and start again"},
	{MK_CALL_BASELINE, ERANGE, false,
	 "the memory lies outside of the pool that was reserved at boot: this is an older "
	 "generation "
	 "than the one detected"},
	{MK_CALL_BASELINE, EBUSY, false,
	 "a pool exists already, or a CPU could not be taken offline: run `mksplit cleanup`, look "
	 "for tasks and interrupts bound to the CPUs, and empty a pool of another program first"},
	{MK_CALL_BASELINE, ENOMEM, false,
	 "the memory cannot be had in one piece: start right after boot, ask for smaller chunks "
	 "(\"pool_chunk\"), free the page cache and compact (echo 3 > /proc/sys/vm/drop_caches; "
	 "echo 1 > /proc/sys/vm/compact_memory), or boot the host with movablecore="},
	{MK_CALL_BASELINE, EOPNOTSUPP, false,
	 "this architecture cannot park CPUs: the kernel was built without it"},
	{MK_CALL_BASELINE, EPERM, false, "run mksplit as root"},
	{MK_CALL_BASELINE, EACCES, false, "run mksplit as root"},

	{MK_CALL_OVERLAY_WRITE, EINVAL, false,
	 "the blob itself is wrong: this is a fault of mksplit, or of an overlay file of the plan"},
	{MK_CALL_OVERLAY_WRITE, ENOMEM, true, "the host is short of memory: free some and repeat"},
	{MK_CALL_OVERLAY_WRITE, EFBIG, false, "the overlay is longer than 1 MiB"},
	{MK_CALL_OVERLAY_WRITE, EACCES, false, "run mksplit as root"},
	{MK_CALL_OVERLAY_WRITE, EPERM, false, "run mksplit as root"},

	{MK_CALL_OVERLAY, EINVAL, false,
	 "a property or target is not what this kernel expects, a CPU is unknown, offline or the "
	 "boot CPU of a running instance: compare the blob with the kernel's release"},
	{MK_CALL_OVERLAY, EPERM, false, "there is no pool: the baseline has to be written first"},
	{MK_CALL_OVERLAY, ENOENT, false,
	 "the instance, or the exact memory chunk, does not exist: somebody else removed it; see "
	 "`mksplit status`"},
	{MK_CALL_OVERLAY, EEXIST, false,
	 "an instance with this name or id exists: run `mksplit cleanup`, or remove it if it is of "
	 "another program"},
	{MK_CALL_OVERLAY, EBUSY, true,
	 "a CPU is lent to an instance, memory is still in use, the instance is not stopped and "
	 "unloaded, or another kexec operation runs: stop other multikernel programs and repeat"},
	{MK_CALL_OVERLAY, ENOMEM, false,
	 "the pool has not enough free memory for it: leave a memory block of slack a node, ask "
	 "for "
	 "less, or start right after boot"},
	{MK_CALL_OVERLAY, ENODEV, false,
	 "the receiving kernel does not know this CPU or device: a CPU has to be in the pool "
	 "before "
	 "the kernel that shall receive it boots"},
	{MK_CALL_OVERLAY, ETIMEDOUT, true,
	 "the instance did not answer in 10 s: look at its console; if it hangs, halt it by force"},
	{MK_CALL_OVERLAY, EOPNOTSUPP, false,
	 "this architecture cannot take CPUs back from a running instance: halt it first"},
	{MK_CALL_OVERLAY, ENOSPC, true,
	 "the message ring of the instance is full: it, or its neighbour, writes too much to its "
	 "console; boot it with quiet loglevel=1"},

	{MK_CALL_LOAD, EPERM, false,
	 "loading is not allowed: it needs CAP_SYS_BOOT, kernel.kexec_load_disabled=0, a "
	 "kernel.kexec_load_limit_reboot that is not used up, and no lockdown (secure boot)"},
	{MK_CALL_LOAD, EINVAL, false,
	 "flags, id or image header were refused; the instance is left alone from here on, and the "
	 "host should be rebooted before the next run"},
	{MK_CALL_LOAD, ENOENT, false, "there is no instance with this id: it was removed meanwhile"},
	{MK_CALL_LOAD, EBUSY, true,
	 "another kexec operation runs, or the instance has an image already"},
	{MK_CALL_LOAD, ENOEXEC, false,
	 "the image is no vmlinux with the multikernel note: build it with CONFIG_MULTIKERNEL=y, "
	 "and "
	 "check it with `mksplit doctor --kernel FILE`; the instance is left alone from here on"},
	{MK_CALL_LOAD, ENOMEM, false,
	 "the instance's memory is too small or in too many pieces, or the host is short of "
	 "memory: "
	 "give the partition more; the instance is left alone, and the host should be rebooted"},
	{MK_CALL_LOAD, EADDRNOTAVAIL, false,
	 "the image does not fit the instance's memory: give the partition more; the instance is "
	 "left "
	 "alone, and the host should be rebooted"},
	{MK_CALL_LOAD, EBADF, false, "the image cannot be read; the instance is left alone"},
	{MK_CALL_LOAD, EFBIG, false, "an image file is over 4 GiB; the instance is left alone"},
	{MK_CALL_LOAD, ETXTBSY, false,
	 "the image is open for writing somewhere: wait for the build to end; the instance is left "
	 "alone"},
	{MK_CALL_LOAD, EIO, false,
	 "the image could not be read from disk; the instance is left alone"},
	{MK_CALL_LOAD, EKEYREJECTED,
	 false, "the image's signature does not match a key of this kernel: sign it, or turn secure boot off"},
	{MK_CALL_LOAD, ENOKEY, false,
	 "this kernel has no key for the image's signature: sign it, or turn secure boot off"},
	{MK_CALL_LOAD, EBADMSG, false, "the image's signature is damaged"},
	{MK_CALL_LOAD, ENODATA, false,
	 "this kernel takes signed images only (CONFIG_KEXEC_SIG_FORCE or lockdown): sign it, or "
	 "turn "
	 "secure boot off"},
	{MK_CALL_LOAD, ENOSYS, false,
	 "this kernel has no kexec_file_load: it needs CONFIG_KEXEC_FILE=y"},

	{MK_CALL_UNLOAD, EPERM, false,
	 "unloading is not allowed: unloads count against kernel.kexec_load_limit_reboot too"},
	{MK_CALL_UNLOAD, ENOENT, false, "nothing is loaded there, or the instance is gone"},
	{MK_CALL_UNLOAD, EBUSY, true, "another kexec operation runs"},
	{MK_CALL_UNLOAD, EINVAL, false, "the id was refused"},

	{MK_CALL_BOOT, EPERM, false, "it needs CAP_SYS_BOOT: run mksplit as root"},
	{MK_CALL_BOOT, EFAULT, false,
	 "the kernel could not read the argument; further reboot(2) calls may hang now: reboot the "
	 "host by its power button or sysrq"},
	{MK_CALL_BOOT, EINVAL, false,
	 "no such instance, no image in it, no CPUs, or mksplit runs in a container (the call "
	 "works in "
	 "the initial PID namespace alone)"},
	{MK_CALL_BOOT, ENOENT, false, "there is no instance with this id: it was removed meanwhile"},
	{MK_CALL_BOOT, EBUSY, true,
	 "another kexec operation runs, the instance is up already, or one of its CPUs has not "
	 "come to rest since it was halted"},
	{MK_CALL_BOOT, ENODEV, false, "the pool has no parking area: reboot the host"},
	{MK_CALL_BOOT, ETIMEDOUT, false,
	 "a CPU did not leave its parking loop in 1 s: halt by force, remove the instance, and "
	 "reboot the host if it happens again"},
	{MK_CALL_BOOT, ENOSPC, false,
	 "the boot tree does not fit its page: give the instance fewer CPUs or devices"},

	{MK_CALL_HALT, EPERM, false, "it needs CAP_SYS_BOOT: run mksplit as root"},
	{MK_CALL_HALT, EINVAL, false, "the instance does not run, or could not be told"},
	{MK_CALL_HALT, ENOENT, false, "there is no instance with this id"},
	{MK_CALL_HALT, ENODEV, false, "the instance could not be told: it is halted by force next"},
	{MK_CALL_HALT, ENOSPC, false,
	 "the message ring of the instance is full: it is halted by force next"},
	{MK_CALL_HALT, ETIMEDOUT, false,
	 "the instance did not confirm in 30 s: it is halted by force next"},
	{MK_CALL_HALT, EBUSY, true, "another operation runs, or a CPU has not come to rest"},

	{MK_CALL_FORCE_HALT, EPERM, false, "it needs CAP_SYS_BOOT: run mksplit as root"},
	{MK_CALL_FORCE_HALT, EINVAL, false, "the instance has no CPUs, or is stopped already"},
	{MK_CALL_FORCE_HALT, ENOENT, false, "there is no instance with this id"},
	{MK_CALL_FORCE_HALT, EBUSY, true,
	 "a CPU of the instance does not stop: wait, repeat, and reboot the host if it stays so"},

	{MK_CALL_CONSOLE, ENOENT, false,
	 "there is no /dev/mktty: the kernel needs CONFIG_MKTTY=y, and /dev a devtmpfs"},
	{MK_CALL_CONSOLE, EACCES, false, "run mksplit as root"},
	{MK_CALL_CONSOLE, EINVAL, false, "the id was refused: the instance has no image or no CPU"},
	{MK_CALL_CONSOLE, ENODEV, false, "there is no instance with this id"},
	{MK_CALL_CONSOLE, ENOTCONN, false, "no instance was chosen before reading"},
	{MK_CALL_CONSOLE, ENOSPC, true,
	 "the message ring of the instance is full: write less at once"},
	{MK_CALL_CONSOLE, ENOMEM, true, "the host is short of memory"},
};

const char *mk_call_name(enum mk_call call)
{
	return call < MK_NCALLS ? call_names[call] : "?";
}

static const struct row *find(enum mk_call call, int errnum)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].call == call && rows[i].errnum == abs(errnum))
			return &rows[i];
	return NULL;
}

const char *mk_explain(enum mk_call call, int errnum)
{
	const struct row *r = find(call, errnum);

	return r ? r->sentence
		 : "not an errno that is known of this call: look at the end of `dmesg`, and "
		   "attach "
		   "it to a report";
}

bool mk_retryable(enum mk_call call, int errnum)
{
	const struct row *r = find(call, errnum);

	return r && r->retry;
}

bool mk_load_poisons(int errnum)
{
	switch (abs(errnum)) {
	case 0:
	case EPERM:
	case EBUSY:
	case ENOENT:
	case ENOSYS:
		return false;
	default:
		return true;
	}
}

const char *mk_errno_name(int errnum)
{
	static _Thread_local char number[16];
	const char *name = strerrorname_np(abs(errnum));

	if (name)
		return name;
	snprintf(number, sizeof(number), "%d", abs(errnum));
	return number;
}

int mk_err(struct err *e, enum mk_call call, int errnum)
{
	return err_set(e, errnum, "%s failed (%s): %s", mk_call_name(call), mk_errno_name(errnum),
		       mk_explain(call, errnum));
}
