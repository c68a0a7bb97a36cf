// SPDX-License-Identifier: GPL-2.0-or-later
#include "bench/runner.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/report.h"
#include "bench/room.h"
#include "bench/spec.h"
#include "bench/test.h"
#include "common/cleanup.h"

#define DATA_PART 16384

struct runner {
	int fd;
	struct spec spec;
	struct cell cell;
	struct room room;
	const struct family *family;
};

static void say(int fd, char letter, const char *text, size_t len)
{
	char message[RUNNER_MESSAGE_MAX];

	if (len > sizeof(message) - 1)
		len = sizeof(message) - 1;
	message[0] = letter;
	memcpy(message + 1, text, len);
	send(fd, message, len + 1, MSG_NOSIGNAL);
}

static int refuse(const struct runner *r, const struct err *e)
{
	say(r->fd, e->code == -EOPNOTSUPP ? 'U' : 'F', e->text, strlen(e->text));
	return EXIT_FAILURE;
}

/* 1, or 0 when the parent is gone. */
static int hear(int fd, char *message)
{
	for (;;) {
		ssize_t n = recv(fd, message, RUNNER_MESSAGE_MAX - 1, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return 0;
		message[n] = '\0';
		return 1;
	}
}

static void live(void *arg, int k, int64_t before, int64_t after, const uint64_t *counts, int n)
{
	struct runner *r = arg;
	char text[RUNNER_MESSAGE_MAX];
	size_t len;

	len = snprintf(text, sizeof(text), "%d %" PRId64 " %" PRId64, k, before, after);
	for (int i = 0; i < n && len < sizeof(text) - 30; i++)
		len += snprintf(text + len, sizeof(text) - len, " %" PRIu64, counts[i]);
	say(r->fd, 'S', text, len);
}

/* For the handler: the folder that was made, or "". */
static char made_folder[PATH_MAX];

/*
 * Told to end by a parent that may itself be gone. A family that makes files has this signal
 * blocked and sees it where it waits; here the folder is still empty, or stays so.
 */
static void end_early(int sig)
{
	if (made_folder[0])
		rmdir(made_folder);
	signal(sig, SIG_DFL);
	raise(sig);
}

/* The parent removes the folder should we be killed; so no signal comes before it knows of it. */
static int enter_room(struct runner *r, struct err *e)
{
	struct sigaction act = {.sa_handler = end_early};
	sigset_t all, before;
	int ret;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	ret = room_enter(&r->room, r->spec.cell.dir, e);
	if (r->room.made) {
		say(r->fd, 'M', r->room.dir, strlen(r->room.dir));
		snprintf(made_folder, sizeof(made_folder), "%s", r->room.dir);
		sigaction(SIGTERM, &act, NULL);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	return ret;
}

static int prepare(struct runner *r, char *message, struct err *e)
{
	const struct test_info *info;
	int ret;

	if (message[0] != 'P')
		return err_set(e, EPROTO, "a runner starts with P");
	ret = spec_parse(&r->spec, message + 1, e);
	if (ret < 0)
		return ret;
	r->family = find_family(r->spec.cell.family);
	info = r->family ? find_test(r->family, r->spec.cell.test) : NULL;
	if (!info)
		return err_set(e, EINVAL, "there is no test \"%s\" in a family \"%s\"",
			       r->spec.cell.test, r->spec.cell.family);
	ret = enter_room(r, e);
	if (ret < 0)
		return ret;
	r->cell = r->spec.cell;
	r->cell.dir = r->room.dir;
	r->cell.private_dir = r->room.private_dir;
	r->cell.report = report_new(r->cell.family, r->cell.test, mode_name(r->cell.mode));
	if (!r->cell.report)
		return err_set(e, ENOMEM, "no memory");
	if (r->spec.live) {
		r->cell.live = live;
		r->cell.live_arg = r;
	}
	return r->family->prepare(&r->cell, e);
}

static int parse_go(const char *text, struct go *go, struct err *e)
{
	if (sscanf(text, "%" SCNd64 " %" SCNd64 " %" SCNd64 " %d %" SCNd64, &go->start, &go->first,
		   &go->interval, &go->n, &go->stop) != 5)
		return err_set(e, EPROTO, "no valid G");
	return 0;
}

static void notes(struct runner *r)
{
	struct report *report = r->cell.report;
	bool fixed = personality(0xffffffff) & ADDR_NO_RANDOMIZE;

	report_note(report, "room",
		    r->room.missing[0] || !r->room.private_dir ? "shared" : "private");
	report_note(report, "room_missing", r->room.missing);
	report_note(report, "dir", r->room.dir);
	report_note(report, "dir_mount", r->room.options);
	report_note(report, "aslr", fixed ? "off" : "on");
}

static int send_result(struct runner *r, struct err *e)
{
	const char *text;
	size_t len;
	int ret;

	notes(r);
	ret = report_end(r->cell.report, &text, &len, e);
	if (ret < 0)
		return ret;
	for (size_t at = 0; at < len; at += DATA_PART)
		say(r->fd, 'D', text + at, len - at < DATA_PART ? len - at : DATA_PART);
	say(r->fd, 'E', "", 0);
	return 0;
}

static int run(struct runner *r, struct err *e)
{
	cleanup_free char *message = malloc(RUNNER_MESSAGE_MAX);
	struct go go;
	int ret;

	if (!message)
		return err_set(e, ENOMEM, "no memory");
	if (!hear(r->fd, message))
		return 0;
	ret = prepare(r, message, e);
	if (ret < 0)
		return ret;
	say(r->fd, 'R', "", 0);
	if (!hear(r->fd, message) || message[0] != 'G')
		return 0;
	ret = parse_go(message + 1, &go, e);
	return ret < 0 ? ret : r->family->run(&r->cell, &go, e);
}

int runner_main(int fd)
{
	/* What runs in here is dangling from its parent: nobody else would end it. */
	struct runner r = {.fd = fd};
	struct err e = ERR_INIT;
	int ret;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	signal(SIGPIPE, SIG_IGN);
	ret = run(&r, &e);
	if (r.family)
		(r.family->cleanup)(&r.cell);
	room_leave(&r.room);
	if (ret == 0 && r.cell.report)
		ret = send_result(&r, &e);
	/* After the cleaning: who hears it may start the next cell. */
	if (ret < 0)
		refuse(&r, &e);
	report_free(&r.cell.report);
	spec_free(&r.spec);
	return ret < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
