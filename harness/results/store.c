// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/results/store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/io.h"

/* A cell of 8192 tasks with 100 samples; a longer line is none of ours. */
#define EVENT_LINE_MAX (64 << 20)

struct store {
	char *dir;
	int fd; /* events.jsonl, also the lock */
	json_t *run;
	json_t *done; /* object used as a set of keys */
};

static const char *const finished[] = {"ok", "flagged", "unavailable"};

static struct store *store_new(const char *dir)
{
	struct store *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->fd = -1;
	s->dir = strdup(dir);
	s->done = json_object();
	if (!s->dir || !s->done)
		store_close(&s);
	return s;
}

void store_close(struct store **s)
{
	if (!*s)
		return;
	if ((*s)->fd >= 0)
		close((*s)->fd);
	free((*s)->dir);
	json_decref((*s)->run);
	json_decref((*s)->done);
	free(take_ptr(*s));
}

const char *store_dir(const struct store *s)
{
	return s->dir;
}

const json_t *store_run(const struct store *s)
{
	return s->run;
}

bool store_has_cell(const struct store *s, const char *key)
{
	return json_object_get(s->done, key) != NULL;
}

int store_cells(const struct store *s)
{
	return json_object_size(s->done);
}

/* A name from a plan or a host as part of a file's name. */
static void append_name(char *out, size_t size, const char *name)
{
	size_t n = strlen(out);

	for (; *name && n + 1 < size; name++) {
		char c = *name;
		bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			     (c >= '0' && c <= '9') || c == '-' || (c == '.' && n > 0);

		out[n++] = plain ? c : '-';
	}
	out[n] = '\0';
}

/* The next name that is free: two runs may start in the same second. */
static int make_named(char *path, size_t size, const char *parent, const char *plan_name,
		      struct err *e)
{
	char name[200] = "", host[65] = "", stamp[32];
	struct tm tm;
	time_t now = time(NULL);

	gethostname(host, sizeof(host) - 1);
	host[strcspn(host, ".")] = '\0';
	gmtime_r(&now, &tm);
	strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", &tm);
	append_name(name, 100, *plan_name ? plan_name : "plan");
	strcat(name, "_");
	append_name(name, 170, host);
	if (mkdir(parent, 0755) < 0 && errno != EEXIST)
		return err_sys(e, "%s", parent);
	for (int i = 1; i < 100; i++) {
		int n = i == 1 ? snprintf(path, size, "%s/%s_%s", parent, name, stamp)
			       : snprintf(path, size, "%s/%s_%s-%d", parent, name, stamp, i);

		if ((size_t)n >= size)
			return err_set(e, ENAMETOOLONG, "%s", parent);
		if (mkdir(path, 0755) == 0)
			return 0;
		if (errno != EEXIST)
			return err_sys(e, "%s", path);
	}
	return err_set(e, EEXIST, "%s", path);
}

static int make_folder(const struct store *s, const char *name, struct err *e)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", s->dir, name);
	return mkdir(path, 0755) < 0 ? err_sys(e, "%s", path) : 0;
}

/* New entries of a folder last only once the folder itself is on the disk. */
static int flush_folder(const char *path, struct err *e)
{
	cleanup_close int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	/* Some file systems cannot, and say EINVAL; then there is nothing to wait for. */
	if (fd < 0 || (fsync(fd) < 0 && errno != EINVAL))
		return err_sys(e, "%s", path);
	return 0;
}

static int open_events(struct store *s, int flags, struct err *e)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/events.jsonl", s->dir);
	s->fd = open(path, O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW | flags, 0644);
	if (s->fd < 0)
		return err_sys(e, "%s", path);
	if (flock(s->fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK
			       ? err_set(e, EBUSY, "%s: another mksplit is writing there", s->dir)
			       : err_sys(e, "%s", path);
	return 0;
}

static int fill_new(struct store *s, const char *plan_text, struct err *e)
{
	char path[PATH_MAX];
	int ret = make_folder(s, "consoles", e);

	if (ret == 0)
		ret = make_folder(s, "blobs", e);
	snprintf(path, sizeof(path), "%s/plan.json", s->dir);
	if (ret == 0)
		ret = replace_file(path, plan_text, strlen(plan_text), 0644, e);
	if (ret == 0)
		ret = open_events(s, O_CREAT | O_EXCL, e);
	if (ret == 0)
		ret = flush_folder(s->dir, e);
	return ret;
}

int store_create(struct store **out, const char *parent, const char *dir, const char *plan_name,
		 const char *plan_text, struct err *e)
{
	char path[PATH_MAX];
	struct store *s;
	int ret;

	if (dir) {
		if (snprintf(path, sizeof(path), "%s", dir) >= (int)sizeof(path))
			return err_set(e, ENAMETOOLONG, "%s", dir);
		if (mkdir(path, 0755) < 0)
			return err_sys(e, "cannot make the results folder %s", path);
	} else {
		ret = make_named(path, sizeof(path), parent, plan_name, e);
		if (ret < 0)
			return err_wrap(e, "cannot make a results folder");
	}
	s = store_new(path);
	if (!s)
		return err_set(e, ENOMEM, "no memory");
	ret = fill_new(s, plan_text, e);
	if (ret < 0)
		store_close(&s);
	*out = s;
	return ret;
}

static bool is_event(const json_t *event, const char *kind)
{
	const char *its = json_string_value(json_object_get(event, "event"));

	return its && strcmp(its, kind) == 0;
}

static void remember(struct store *s, const json_t *event)
{
	const char *key = json_string_value(json_object_get(event, "key"));
	const char *status = json_string_value(json_object_get(event, "status"));

	if (!is_event(event, "cell") || !key || !status)
		return;
	/* The last attempt counts. */
	json_object_del(s->done, key);
	for (size_t i = 0; i < sizeof(finished) / sizeof(*finished); i++)
		if (strcmp(status, finished[i]) == 0)
			json_object_set_new(s->done, key, json_true());
}

/* Reads what is there; *good is the length up to the last whole line. */
static int read_events(struct store *s, off_t *good, struct err *e)
{
	cleanup_close int copy = fcntl(s->fd, F_DUPFD_CLOEXEC, 0);
	cleanup_file FILE *f = copy < 0 ? NULL : fdopen(copy, "r");
	cleanup_free char *line = NULL;
	size_t size = 0;
	ssize_t n;

	if (!f)
		return err_sys(e, "%s/events.jsonl", s->dir);
	take_fd(copy);
	*good = 0;
	for (int number = 1; (n = getline(&line, &size, f)) > 0; number++) {
		json_t *event;

		if (line[n - 1] != '\n')
			return 0;
		event = n < EVENT_LINE_MAX ? json_loadb(line, n, 0, NULL) : NULL;
		if (!event)
			return err_set(e, EBADMSG, "%s/events.jsonl: line %d is no event", s->dir,
				       number);
		remember(s, event);
		if (!s->run && is_event(event, "run"))
			s->run = json_incref(event);
		json_decref(event);
		*good += n;
	}
	return ferror(f) ? err_sys(e, "%s/events.jsonl", s->dir) : 0;
}

int store_open(struct store **out, const char *dir, struct err *e)
{
	struct store *s = store_new(dir);
	off_t good = 0;
	int ret;

	if (!s)
		return err_set(e, ENOMEM, "no memory");
	ret = open_events(s, 0, e);
	if (ret == 0)
		ret = read_events(s, &good, e);
	if (ret == 0 && (ftruncate(s->fd, good) < 0 || fdatasync(s->fd) < 0))
		ret = err_sys(e, "%s/events.jsonl", dir);
	if (ret < 0)
		store_close(&s);
	*out = s;
	return ret;
}

static json_t *utc_now(void)
{
	char stamp[32], text[64];
	struct timespec ts;
	struct tm tm;

	clock_gettime(CLOCK_REALTIME, &ts);
	gmtime_r(&ts.tv_sec, &tm);
	strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text, sizeof(text), "%s.%03ldZ", stamp, ts.tv_nsec / 1000000);
	return json_string(text);
}

int store_event(struct store *s, json_t *event, struct err *e)
{
	cleanup_free char *line = NULL;
	size_t len;
	int ret;

	if (event && !json_object_get(event, "utc"))
		json_object_set_new(event, "utc", utc_now());
	/* 15 digits: 0.03 stays 0.03, and what is lost is far below any measurement. */
	line = event ? json_dumps(event, JSON_COMPACT | JSON_REAL_PRECISION(15)) : NULL;
	if (!line) {
		json_decref(event);
		return err_set(e, ENOMEM, "an event could not be written down");
	}
	len = strlen(line);
	line[len] = '\n'; /* in place of the NUL: one write, so that a crash tears one line only */
	ret = write_all(s->fd, line, len + 1);
	if (ret == 0 && fdatasync(s->fd) < 0)
		ret = -errno;
	if (ret == 0)
		remember(s, event);
	json_decref(event);
	if (ret < 0) {
		errno = -ret;
		return err_sys(e, "%s/events.jsonl", s->dir);
	}
	return 0;
}
