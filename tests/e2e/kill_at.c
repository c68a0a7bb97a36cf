// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Preloaded into mksplit by kill.sh: SIGKILL at the flush to disk with the number KILL_AT, before it
 * (KILL_WHEN=before) or after. Everything that mksplit changes and everything it stores is
 * flushed, so the flushes are the boundaries of its steps. The number of flushes so far is
 * kept in the file KILL_COUNT.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void die(void)
{
	kill(getpid(), SIGKILL);
	pause();
}

static int count_and_call(const char *name, int fd)
{
	static int calls;
	int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
	const char *at = getenv("KILL_AT"), *when = getenv("KILL_WHEN"), *file = getenv("KILL_COUNT");
	int number = __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST), ret;
	FILE *f = file ? fopen(file, "we") : NULL;

	if (f) {
		fprintf(f, "%d\n", number);
		fclose(f);
	}
	if (!at || atoi(at) != number)
		return real(fd);
	if (when && strcmp(when, "before") == 0)
		die();
	ret = real(fd);
	die();
	return ret;
}

int fsync(int fd)
{
	return count_and_call("fsync", fd);
}

int fdatasync(int fd)
{
	return count_and_call("fdatasync", fd);
}
