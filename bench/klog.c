// SPDX-License-Identifier: GPL-2.0-or-later
#include "bench/klog.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A record is at most CONSOLE_EXT_LOG_MAX long (Documentation/ABI/testing/dev-kmsg). */
#define RECORD_MAX 8192
#define TEXT_MAX   65536

struct klog {
	int fd;
};

struct klog *klog_open(void)
{
	struct klog *k = malloc(sizeof(*k));

	if (!k)
		return NULL;
	k->fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (k->fd < 0) {
		free(k);
		return NULL;
	}
	klog_skip(k);
	return k;
}

void klog_close(struct klog *k)
{
	if (!k)
		return;
	close(k->fd);
	free(k);
}

void klog_skip(struct klog *k)
{
	if (k)
		lseek(k->fd, 0, SEEK_END);
}

/* "priority,sequence,microseconds,flags;text\n key=value..." */
static void add_record(FILE *f, char *record)
{
	char *text = strchr(record, ';');
	unsigned int priority;
	unsigned long long us;

	if (!text || sscanf(record, "%u,%*u,%llu", &priority, &us) != 2)
		return;
	text++;
	text[strcspn(text, "\n")] = '\0';
	fprintf(f, "%u %llu.%06llu %s\n", priority & 7, us / 1000000, us % 1000000, text);
}

char *klog_new(struct klog *k, size_t *len)
{
	char record[RECORD_MAX + 1], *text = NULL;
	FILE *f = open_memstream(&text, len);
	unsigned int left = 0;

	if (!f)
		return NULL;
	while (k) {
		ssize_t n = read(k->fd, record, RECORD_MAX);

		if (n < 0 && (errno == EPIPE || errno == EINTR)) /* EPIPE: overwritten meanwhile */
			continue;
		if (n <= 0)
			break;
		record[n] = '\0';
		if (ftell(f) < TEXT_MAX)
			add_record(f, record);
		else
			left++;
	}
	if (left)
		fprintf(f, "5 0.000000 and %u more\n", left);
	if (fclose(f) != 0) {
		free(text);
		return NULL;
	}
	return text;
}
