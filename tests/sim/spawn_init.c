// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The /init of the tests' initramfs: a smallest agent. It greets, says what it sees, and does
 * what lines on its console say.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

static void print_file(const char *what, const char *path)
{
	char text[512] = "";
	int fd = open(path, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? strcspn(text, "\n") : 0] = '\0';
	printf("%s=%s\n", what, text);
}

static void print_apics(void)
{
	FILE *f = fopen("/proc/cpuinfo", "r");
	char line[4096];

	printf("apics=");
	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, "apicid", 6) == 0)
			printf("%d,", atoi(strchr(line, ':') + 1));
	printf("\n");
	if (f)
		fclose(f);
}

static void print_cpus(void)
{
	cpu_set_t set;
	unsigned cpu = 9999, node = 9999;

	CPU_ZERO(&set);
	sched_getaffinity(0, sizeof(set), &set);
	syscall(SYS_getcpu, &cpu, &node, NULL);
	print_file("online", "/sys/devices/system/cpu/online");
	print_apics();
	printf("affinity=%d cpu=%u node=%u\n", CPU_COUNT(&set), cpu, node);
}

static void pin(int cpu)
{
	cpu_set_t set;
	unsigned now = 9999;
	int ret;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	ret = sched_setaffinity(0, sizeof(set), &set);
	syscall(SYS_getcpu, &now, NULL, NULL);
	printf("pinned=%d cpu=%u\n", ret, now);
}

int main(void)
{
	struct termios t;
	struct timespec raw;
	struct utsname u;
	char line[256];

	/* As a kernel's init does; under mksim they are there already. */
	mkdir("/proc", 0755);
	mkdir("/sys", 0755);
	mount("proc", "/proc", "proc", 0, NULL);
	mount("sysfs", "/sys", "sysfs", 0, NULL);
	mount("devtmpfs", "/dev", "devtmpfs", 0, NULL);
	if (tcgetattr(0, &t) == 0) {
		cfmakeraw(&t);
		tcsetattr(0, TCSANOW, &t);
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	clock_gettime(CLOCK_MONOTONIC_RAW, &raw);
	uname(&u);
	printf("hello pid=%d release=%s uptime=%s\n", getpid(), u.release,
	       raw.tv_sec < 60 ? "fresh" : "old");
	print_file("cmdline", "/proc/cmdline");
	print_cpus();
	printf("ready\n");
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\r\n")] = '\0';
		if (strcmp(line, "off") == 0)
			reboot(RB_POWER_OFF);
		else if (strcmp(line, "cpus") == 0)
			print_cpus();
		else if (strncmp(line, "pin ", 4) == 0)
			pin(atoi(line + 4));
		else if (strcmp(line, "flood") == 0)
			for (int i = 0; i < 4000; i++)
				printf("%0100d\n", i);
		else if (strncmp(line, "later ", 6) == 0)
			usleep(300000), printf("%s\n", line + 6);
		else if (strcmp(line, "exit") == 0)
			return 7;
		else if (strcmp(line, "kexec") == 0)
			printf("kexec=%ld\n", syscall(SYS_kexec_load, 0, 0, NULL, 0));
		else
			printf("echo %s\n", line);
		printf("done\n");
	}
	return 8;
}
