/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_MACHINE_ROOT_H
#define MKSPLIT_MACHINE_ROOT_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/cleanup.h"
#include "common/cpumask.h"
#include "common/err.h"

/*
 * Every read of /proc and /sys in harness/ goes through a root: a folder that stands for
 * "/". With --sysroot DIR the same code reads the dump of another machine, and with a
 * fixture tree it is tested. Paths are given as on the machine ("/sys/devices/..."), and
 * are resolved inside the root: a symbolic link of a dump cannot lead out of it.
 */
struct root {
	int fd; /* O_PATH of the folder */
	bool real; /* it is "/" itself: affinity and cpusets of this process count too */
	char *path; /* for messages, "" for the real root */
};

#define ROOT_INIT ((struct root){.fd = -1})

/* dir NULL or "/" opens the machine itself. */
int root_open(struct root *r, const char *dir, struct err *e);
void root_close(struct root *r);
#define cleanup_root cleanup(root_close)

bool root_exists(const struct root *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Reads a whole small file (at most 1 MiB; root_read_big: 64 MiB) into a new string without
 * trailing white space, which the caller frees. -ENOENT, without a message worth printing,
 * is the usual answer for what a machine does not have.
 */
int root_read(const struct root *r, char **text, struct err *e, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
int root_read_big(const struct root *r, char **text, struct err *e, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* The same, as a number (decimal, or hexadecimal with 0x) or as a CPU list. */
int root_read_number(const struct root *r, long long *value, struct err *e, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
int root_read_cpulist(const struct root *r, struct cpumask *m, struct err *e, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Opens a file with open(2) flags, never creating one; -1 with errno. The caller closes it. */
int root_open_file(const struct root *r, int flags, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Opens a folder to walk; NULL with errno. The caller closes it. */
DIR *root_opendir(const struct root *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Writes a value to a file that exists (a sysfs or procfs switch, or its double in a fixture
 * tree): never creates one. The kernel's errno comes back with the path in the message.
 */
int root_write(const struct root *r, const char *value, struct err *e, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#endif
