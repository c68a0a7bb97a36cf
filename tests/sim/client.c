// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A client of the mklinux interface for the tests of mksim: one action a run. It shares no
 * code with mksplit or mksim. Prints what came of it; errors as the errno's number, negative.
 *
 *   mount | load ID KERNEL INITRD CMDLINE | loadflags FLAGS KERNEL INITRD CMDLINE | unload ID
 *   boot ID | halt ID | force ID | reboot MAGIC1 MAGIC2 CMD ID | badpointer CMD
 *   write FILE BLOB   one write(2) of the blob; prints its result
 *   tty ID [SECONDS] [WORD...]  connects, sends each word as a line once "ready" was seen,
 *                               prints what comes until SECONDS without a byte
 *   say ID WORD                 a line of input, without reading
 *   foreign                     kexec and reboot by other entries of the kernel
 *   heirs                       prints how many children lost the CPU they were forked on
 *   kexec_load FLAGS | affinity CPU | cpus
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int answer(long ret)
{
	printf("%ld\n", ret < 0 ? -(long)errno : ret);
	return ret < 0;
}

static int load(unsigned long flags, const char *kernel, const char *initrd, const char *cmdline)
{
	int k = open(kernel, O_RDONLY), i = open(initrd, O_RDONLY);

	return answer(syscall(SYS_kexec_file_load, k, i, strlen(cmdline) + 1, cmdline, flags));
}

static int reboot_mk(unsigned cmd, int id)
{
	struct {
		int id;
	} arg = {id};

	return answer(syscall(SYS_reboot, 0xfee1dead, 672274793, cmd, &arg));
}

static int write_blob(const char *path, const char *blob)
{
	static char data[(1 << 20) + 100];
	int in = open(blob, O_RDONLY), out = open(path, O_WRONLY);
	ssize_t n = read(in, data, sizeof(data));

	if (in < 0 || out < 0 || n < 0)
		return answer(-1);
	return answer(write(out, data, n));
}

static int tty(int argc, char **argv)
{
	int fd = open("/dev/mktty", O_RDWR), ms = argc > 1 ? atoi(argv[1]) * 1000 : 2000, next = 2;
	char data[4096], seen[65536] = "";
	size_t n = 0;

	snprintf(data, sizeof(data), "%s\n", argv[0]);
	if (fd < 0 || write(fd, data, strlen(data)) < 0)
		return answer(-1);
	for (;;) {
		struct pollfd p = {fd, POLLIN, 0};
		ssize_t got;

		if (poll(&p, 1, ms) <= 0)
			break;
		got = read(fd, data, sizeof(data));
		if (got < 0)
			return answer(-1);
		fwrite(data, 1, got, stdout);
		fflush(stdout);
		for (ssize_t k = 0; k < got && n < sizeof(seen) - 1; k++)
			seen[n++] = data[k];
		seen[n] = '\0';
		while (next < argc && (strstr(seen, "ready") || strstr(seen, "done"))) {
			n = 0;
			seen[0] = '\0';
			snprintf(data, sizeof(data), "%s\n", argv[next++]);
			if (write(fd, data, strlen(data)) < 0)
				return answer(-1);
		}
	}
	return 0;
}

/* Waits for nothing: the connection would take the output away from another client. */
static int say(const char *id, const char *word)
{
	int fd = open("/dev/mktty", O_RDWR);
	char line[256];

	snprintf(line, sizeof(line), "%s\n", id);
	if (fd < 0 || write(fd, line, strlen(line)) < 0)
		return answer(-1);
	snprintf(line, sizeof(line), "%s\n", word);
	return write(fd, line, strlen(line)) < 0 ? answer(-1) : 0;
}

/*
 * reboot(2) and kexec_load(2) through the 32-bit entry and the x32 numbers. Harmless commands
 * only, should they get through: reboot with command 0 is EINVAL for a privileged caller,
 * kexec_load of no segments unloads nothing.
 */
static int foreign(void)
{
#ifdef __x86_64__
	enum {
		REBOOT_32 = 88,
		KEXEC_32 = 283,
		X32 = 0x40000000,
		KEXEC_X32 = 528
	};
	long ret;

	__asm__ volatile("int $0x80"
			 : "=a"(ret)
			 : "a"(REBOOT_32), "b"(0xfee1dead), "c"(672274793), "d"(0), "S"(0)
			 : "memory");
	if (ret != -EPERM && ret != -ENOSYS)
		return printf("reboot by int 0x80: %ld\n", ret), 1;
	__asm__ volatile("int $0x80"
			 : "=a"(ret)
			 : "a"(KEXEC_32), "b"(0), "c"(0), "d"(0), "S"(0)
			 : "memory");
	if (ret != -EPERM && ret != -ENOSYS)
		return printf("kexec by int 0x80: %ld\n", ret), 1;
	if (syscall(X32 | SYS_reboot, 0xfee1dead, 672274793, 0, NULL) != -1 ||
	    (errno != EPERM && errno != ENOSYS))
		return printf("x32 reboot: errno %d\n", errno), 1;
	if (syscall(X32 | KEXEC_X32, 0, 0, NULL, 0) != -1 || (errno != EPERM && errno != ENOSYS))
		return printf("x32 kexec: errno %d\n", errno), 1;
#endif
	return 0;
}

/* Children keep the CPU that their parent had when it forked, wherever it goes later. */
static int heirs(void)
{
	int wrong = 0, status;

	for (int cpu = 1; cpu < 8; cpu++) {
		cpu_set_t set;
		unsigned now = 9999;

		CPU_ZERO(&set);
		CPU_SET(cpu, &set);
		if (sched_setaffinity(0, sizeof(set), &set) < 0)
			return answer(-1);
		if (fork() == 0) {
			usleep(200000);
			syscall(SYS_getcpu, &now, NULL, NULL);
			_exit(now != (unsigned)cpu);
		}
	}
	while (wait(&status) > 0)
		wrong += status != 0;
	printf("%d\n", wrong);
	return wrong;
}

static int affinity(int cpu)
{
	cpu_set_t set;
	unsigned now = 9999;
	int ret;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	ret = sched_setaffinity(0, sizeof(set), &set);
	if (ret < 0)
		return answer(ret);
	CPU_ZERO(&set);
	sched_getaffinity(0, sizeof(set), &set);
	syscall(SYS_getcpu, &now, NULL, NULL);
	printf("count %d cpu %u\n", CPU_COUNT(&set), now);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "mount") == 0)
		return answer(mount("none", "/sys/fs/multikernel", "multikernel", 0, NULL));
	if (strcmp(what, "load") == 0 && argc == 6)
		return load(0x10 | strtoul(argv[2], NULL, 0) << 5, argv[3], argv[4], argv[5]);
	if (strcmp(what, "loadflags") == 0 && argc == 6)
		return load(strtoul(argv[2], NULL, 0), argv[3], argv[4], argv[5]);
	if (strcmp(what, "unload") == 0 && argc == 3)
		return answer(syscall(SYS_kexec_file_load, -1, -1, 0, NULL,
				      0x11 | strtoul(argv[2], NULL, 0) << 5));
	if (strcmp(what, "boot") == 0 && argc == 3)
		return reboot_mk(0x4D4B4C49, atoi(argv[2]));
	if (strcmp(what, "halt") == 0 && argc == 3)
		return reboot_mk(0x4D4B4C48, atoi(argv[2]));
	if (strcmp(what, "force") == 0 && argc == 3)
		return reboot_mk(0x4D4B4C46, atoi(argv[2]));
	if (strcmp(what, "reboot") == 0 && argc == 6) {
		int id = atoi(argv[5]);

		return answer(syscall(SYS_reboot, strtoul(argv[2], NULL, 0),
				      strtoul(argv[3], NULL, 0), strtoul(argv[4], NULL, 0), &id));
	}
	if (strcmp(what, "badpointer") == 0 && argc == 3)
		return answer(syscall(SYS_reboot, 0xfee1dead, 672274793, strtoul(argv[2], NULL, 0),
				      (void *)8));
	if (strcmp(what, "kexec_load") == 0 && argc == 3)
		return answer(syscall(SYS_kexec_load, 0, 0, NULL, strtoul(argv[2], NULL, 0)));
	if (strcmp(what, "write") == 0 && argc == 4)
		return write_blob(argv[2], argv[3]);
	if (strcmp(what, "tty") == 0 && argc >= 3)
		return tty(argc - 2, argv + 2);
	if (strcmp(what, "say") == 0 && argc == 4)
		return say(argv[2], argv[3]);
	if (strcmp(what, "heirs") == 0)
		return heirs();
	if (strcmp(what, "foreign") == 0)
		return foreign();
	if (strcmp(what, "affinity") == 0 && argc == 3)
		return affinity(atoi(argv[2]));
	fprintf(stderr, "client: unknown action %s\n", what);
	return 2;
}
