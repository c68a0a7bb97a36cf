// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/change/journal.h"

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

/* A run writes a few entries a boot; a longer file is not one of ours, nor a higher number. */
#define JOURNAL_MAX (64 << 20)
#define ENTRY_MAX   (1 << 20)

struct journal {
	int fd;
	char path[PATH_MAX];
	json_t *head; /* first line: boot id and process */
	json_t *entries; /* number as text -> {"kind", "undo"}; closed ones are removed */
	int last; /* highest number given */
	bool foreign_boot;
};

static char *boot_id(void)
{
	struct err e = ERR_INIT;
	char *text = NULL;

	if (read_file_at(AT_FDCWD, "/proc/sys/kernel/random/boot_id", 64, &text, NULL, &e) < 0)
		return strdup("unknown");
	text[strcspn(text, "\n")] = '\0';
	return text;
}

static void journal_free(struct journal *j)
{
	if (!j)
		return;
	if (j->fd >= 0)
		close(j->fd);
	json_decref(j->head);
	json_decref(j->entries);
	free(j);
}

static void journal_freep(struct journal **j)
{
	journal_free(*j);
}
#define cleanup_journal cleanup(journal_freep)

/* One line of the file. Lines that make no sense are skipped: none of ours does. */
static void replay(struct journal *j, const char *line, size_t len)
{
	json_t *o = json_loadb(line, len, 0, NULL), *entry;
	char key[16];
	int number;

	if (!json_is_object(o)) {
		json_decref(o);
		return;
	}
	number = (int)json_integer_value(json_object_get(o, "entry"));
	if (!j->head && json_is_string(json_object_get(o, "boot_id"))) {
		j->head = o;
		return;
	}
	if (number < 1 || number > ENTRY_MAX) {
		json_decref(o);
		return;
	}
	snprintf(key, sizeof(key), "%d", number);
	entry = json_object_get(j->entries, key);
	if (number > j->last)
		j->last = number;
	if (json_is_true(json_object_get(o, "gone")))
		json_object_del(j->entries, key);
	else if (entry && json_is_object(json_object_get(o, "more")))
		json_object_update(json_object_get(entry, "undo"), json_object_get(o, "more"));
	else if (json_is_string(json_object_get(o, "kind")) &&
		 json_is_object(json_object_get(o, "undo")))
		json_object_set(j->entries, key, o);
	json_decref(o);
}

/* Reads what is there. A last line without its end was never acted upon; its owner cuts it. */
static int load(struct journal *j, bool owner, struct err *e)
{
	cleanup_free char *text = NULL, *boot = boot_id();
	const char *line, *end;
	size_t len;
	int ret = read_file_at(AT_FDCWD, j->path, JOURNAL_MAX, &text, &len, e);

	if (ret < 0)
		return ret;
	for (line = text; (end = memchr(line, '\n', len - (line - text))); line = end + 1)
		replay(j, line, end - line);
	if (owner && (size_t)(line - text) < len && ftruncate(j->fd, line - text) < 0)
		return err_sys(e, "%s", j->path);
	if (j->head && boot)
		j->foreign_boot =
			strcmp(json_string_value(json_object_get(j->head, "boot_id")), boot) != 0;
	return 0;
}

static pid_t holder(const struct journal *j)
{
	return (pid_t)json_integer_value(json_object_get(j->head, "pid"));
}

/*
 * Opens and locks. -EBUSY: somebody has the lock (j->head says who). The file may be removed by its
 * owner between our open and our lock; then it is another one that counts.
 */
static int open_locked(struct journal *j, int flags, struct err *e)
{
	char folder[PATH_MAX - 16];
	struct stat st;
	int ret = state_folder(folder, sizeof(folder), e);

	if (ret < 0)
		return ret;
	snprintf(j->path, sizeof(j->path), "%s/journal", folder);
	for (;;) {
		j->fd = open(j->path, O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
		if (j->fd < 0)
			return err_sys(e, "%s", j->path);
		if (flock(j->fd, LOCK_EX | LOCK_NB) < 0) {
			load(j, false, &(struct err){0});
			return err_set(e, EBUSY,
				       "another run is under way on this machine (process %d)",
				       (int)holder(j));
		}
		if (fstat(j->fd, &st) == 0 && st.st_nlink > 0)
			return load(j, true, e);
		close(take_fd(j->fd));
	}
}

static struct journal *journal_new(void)
{
	struct journal *j = calloc(1, sizeof(*j));

	if (!j)
		return NULL;
	j->fd = -1;
	j->entries = json_object();
	return j;
}

/* Steals the object. On the disk before it returns. */
static int append(struct journal *j, json_t *o, struct err *e)
{
	cleanup_free char *line = o ? json_dumps(o, JSON_COMPACT) : NULL;
	size_t len = line ? strlen(line) : 0;
	off_t size;
	int ret;

	json_decref(o);
	if (!line)
		return err_set(e, ENOMEM, "no memory for a journal entry");
	line[len] = '\n'; /* in place of the NUL: one write, whole or torn at its end */
	size = lseek(j->fd, 0, SEEK_END);
	ret = write_all(j->fd, line, len + 1);
	if (ret == 0 && fdatasync(j->fd) < 0)
		ret = -errno;
	if (ret < 0) {
		/* Half a line would take the next one, written when there is room again, with it. */
		if (size >= 0 && ftruncate(j->fd, size) < 0)
			ret = -errno;
		errno = -ret;
		return err_sys(e, "%s", j->path);
	}
	return 0;
}

int journal_open(struct journal **out, struct err *e)
{
	cleanup_journal struct journal *j = journal_new();
	cleanup_free char *boot = boot_id();
	int ret;

	if (!j)
		return err_set(e, ENOMEM, "no memory");
	ret = open_locked(j, O_CREAT, e);
	if (ret < 0)
		return ret;
	if (json_object_size(j->entries) > 0 && !j->foreign_boot)
		return err_set(
			e, EBUSY,
			"a run that died (process %d) left changes behind; put the machine back "
			"with `mksplit cleanup` first",
			(int)holder(j));
	/* What is left is void or empty: a new journal begins. */
	json_object_clear(j->entries);
	json_decref(take_ptr(j->head));
	j->last = 0;
	if (ftruncate(j->fd, 0) < 0)
		return err_sys(e, "%s", j->path);
	j->head = json_pack("{s:s,s:i,s:I}", "boot_id", boot ? boot : "unknown", "pid",
			    (int)getpid(), "started", (json_int_t)time(NULL));
	ret = append(j, json_incref(j->head), e);
	if (ret < 0)
		return ret;
	*out = take_ptr(j);
	return 0;
}

int journal_before(struct journal *j, const char *kind, json_t *undo, struct err *e)
{
	json_t *o = json_pack("{s:i,s:s,s:o}", "entry", j->last + 1, "kind", kind, "undo", undo);
	char key[16];
	int ret;

	if (j->last >= ENTRY_MAX) {
		json_decref(o);
		return err_set(e, EFBIG, "%s has %d entries", j->path, j->last);
	}
	if (!o)
		return err_set(e, ENOMEM, "no memory for a journal entry");
	ret = append(j, json_incref(o), e);
	if (ret == 0) {
		snprintf(key, sizeof(key), "%d", ++j->last);
		json_object_set(j->entries, key, o);
		ret = j->last;
	}
	json_decref(o);
	return ret;
}

int journal_update(struct journal *j, int entry, json_t *more, struct err *e)
{
	char key[16];
	json_t *o;

	snprintf(key, sizeof(key), "%d", entry);
	o = json_object_get(j->entries, key);
	if (o)
		json_object_update(json_object_get(o, "undo"), more);
	return append(j, json_pack("{s:i,s:o}", "entry", entry, "more", more), e);
}

int journal_gone(struct journal *j, int entry, struct err *e)
{
	char key[16];

	snprintf(key, sizeof(key), "%d", entry);
	json_object_del(j->entries, key);
	return append(j, json_pack("{s:i,s:b}", "entry", entry, "gone", 1), e);
}

static const struct undo_kind *find_kind(const char *name)
{
	for (const struct undo_kind *const *k = undo_kinds; *k; k++)
		if (strcmp((*k)->kind, name) == 0)
			return *k;
	return NULL;
}

/* All open entries, newest first. The first error is kept; the others are said. */
static int undo_all(struct journal *j, void (*say)(void *arg, const char *line), void *arg,
		    struct err *e)
{
	int first = 0;

	for (int number = j->last; number > 0; number--) {
		const struct undo_kind *kind;
		struct err own = ERR_INIT;
		const char *name;
		char key[16];
		json_t *o;
		int ret;

		snprintf(key, sizeof(key), "%d", number);
		o = json_object_get(j->entries, key);
		if (!o)
			continue;
		name = json_string_value(json_object_get(o, "kind"));
		kind = find_kind(name);
		ret = kind ? kind->undo(json_object_get(o, "undo"), say, arg, &own)
			   : err_set(&own, ENOTSUP,
				     "this mksplit cannot undo a change of kind \"%s\"", name);
		if (ret == 0)
			ret = journal_gone(j, number, &own);
		if (ret >= 0)
			continue;
		if (first == 0)
			*e = own;
		else
			say(arg, own.text);
		first = first ? first : ret;
	}
	return first;
}

static int finish(struct journal *j, void (*say)(void *arg, const char *line), void *arg,
		  struct err *e)
{
	int ret = undo_all(j, say, arg, e);

	if (ret == 0 && unlink(j->path) < 0)
		ret = err_sys(e, "%s", j->path);
	return ret;
}

static void say_nothing(void *arg, const char *line)
{
	(void)arg;
	(void)line;
}

int journal_close(struct journal **jp, struct err *e)
{
	cleanup_journal struct journal *j = take_ptr(*jp);

	return j ? finish(j, say_nothing, NULL, e) : 0;
}

int journal_cleanup(bool dry_run, void (*say)(void *arg, const char *line), void *arg, struct err *e)
{
	cleanup_journal struct journal *j = journal_new();
	const char *key;
	json_t *entry;
	int ret;

	if (!j)
		return err_set(e, ENOMEM, "no memory");
	ret = open_locked(j, 0, e);
	if (ret == -ENOENT)
		return 0;
	if (ret < 0)
		return ret;
	if (j->foreign_boot) {
		say(arg, "a journal of an earlier boot: void, since a reboot undid it all");
		return dry_run || unlink(j->path) == 0 ? 0 : err_sys(e, "%s", j->path);
	}
	if (!dry_run)
		return finish(j, say, arg, e);
	json_object_foreach(j->entries, key, entry) {
		cleanup_free char *text =
			json_dumps(json_object_get(entry, "undo"), JSON_COMPACT | JSON_SORT_KEYS);
		char line[1024];

		snprintf(line, sizeof(line), "would undo %s %s",
			 json_string_value(json_object_get(entry, "kind")), text ? text : "");
		say(arg, line);
	}
	return 0;
}

json_t *journal_peek(bool *alive)
{
	cleanup_journal struct journal *j = journal_new();
	struct err e = ERR_INIT;
	int ret;

	if (!j)
		return NULL;
	ret = open_locked(j, 0, &e);
	*alive = ret == -EBUSY;
	if ((ret < 0 && ret != -EBUSY) || !j->head || j->foreign_boot)
		return NULL;
	return json_incref(j->head);
}
