// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/mklinux/klog.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A record of /dev/kmsg is at most about 1 kB of text behind "prio,seq,time,flags;". */
#define RECORD_MAX 8192
/* More records than one overlay can cause: the reader ends even where somebody floods the log. */
#define RECORDS_MAX 2000

int klog_mark(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0)
		lseek(fd, 0, SEEK_END);
	return fd;
}

void klog_since(int fd, char *text, size_t size)
{
	size_t len = strnlen(text, size);
	char record[RECORD_MAX];

	for (int i = 0; fd >= 0 && i < RECORDS_MAX; i++) {
		ssize_t n = read(fd, record, sizeof(record) - 1);
		char *message, *eol;

		if (n < 0 && (errno == EPIPE || errno == EINTR))
			continue; /* records were overwritten: go on with the next that is left */
		if (n <= 0)
			return;
		record[n] = '\0';
		message = strchr(record, ';');
		if (!message)
			continue;
		message++;
		eol = strchr(message, '\n'); /* behind it stand " KEY=value" lines */
		if (eol)
			*eol = '\0';
		if (strlen(message) + 2 > size - len)
			return;
		len += (size_t)snprintf(text + len, size - len, "%s\n", message);
	}
}

int klog_overlay_errno(const char *log, int tx, char *why, size_t size)
{
	char wanted[80];
	const char *hit, *line, *number, *before;
	long value;

	if (size)
		why[0] = '\0';
	snprintf(wanted, sizeof(wanted), "Failed to apply overlay transaction %d: ", tx);
	hit = strstr(log, wanted);
	if (!hit)
		return 0;
	number = hit + strlen(wanted);
	if (*number != '-')
		return 0;
	value = strtol(number + 1, NULL, 10);
	if (value <= 0 || value > 4095)
		return 0;
	line = hit;
	while (line > log && line[-1] != '\n')
		line--;
	if (line > log && size) {
		before = line - 1;
		while (before > log && before[-1] != '\n')
			before--;
		snprintf(why, size, "%.*s", (int)(line - 1 - before), before);
	}
	return (int)value;
}
