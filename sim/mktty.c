// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/mktty.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "sim/spawn.h"

enum {
	RING = 16384, /* one byte of it stays free */
	MESSAGE_MAX = 4080,
	SLOTS = 63, /* usable message slots of an instance */
};

struct mktty_open {
	struct mktty_open *next; /* newest first */
	struct mktty *tty;
	int id; /* 0: not connected */
	size_t head, len;
	char ring[RING];
};

/* Input that waits for an instance, a message a slot. */
struct pending {
	struct pending *next;
	int id;
	size_t used, sent;
	char data[MESSAGE_MAX];
};

struct mktty {
	struct sim *sim;
	struct mktty_open *opens;
	struct pending *pending;
	void (*on_data)(void *arg, struct mktty_open *o);
	void *arg;
};

struct mktty *mktty_new(struct sim *s, void (*on_data)(void *arg, struct mktty_open *o), void *arg)
{
	struct mktty *t = calloc(1, sizeof(*t));

	if (t)
		*t = (struct mktty){.sim = s, .on_data = on_data, .arg = arg};
	return t;
}

void mktty_free(struct mktty *t)
{
	if (!t)
		return;
	while (t->opens)
		mktty_disconnect(t->opens);
	while (t->pending) {
		struct pending *p = t->pending;

		t->pending = p->next;
		free(p);
	}
	free(t);
}

struct mktty_open *mktty_connect(struct mktty *t)
{
	struct mktty_open *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	o->tty = t;
	o->next = t->opens;
	t->opens = o;
	return o;
}

void mktty_disconnect(struct mktty_open *o)
{
	struct mktty_open **at = &o->tty->opens;

	while (*at != o)
		at = &(*at)->next;
	*at = o->next;
	free(o);
}

static ssize_t choose(struct mktty_open *o, const char *data, size_t len)
{
	struct sim *s = o->tty->sim;
	char text[16];
	size_t n = len < sizeof(text) - 1 ? len : sizeof(text) - 1;
	const char *newline;
	char *end;
	long long id;

	memcpy(text, data, n);
	text[n] = '\0';
	newline = memchr(data, '\n', len);
	if (newline && newline + 1 < data + len)
		log_strict(&s->log, "mktty: %zu bytes behind the id in one write are lost",
			   (size_t)(data + len - newline - 1));
	if (!isdigit((unsigned char)text[0]))
		return -EINVAL;
	errno = 0;
	id = strtoll(text, &end, 10);
	if (*end == '\n')
		end++;
	if (*end || id < 1)
		return -EINVAL;
	if (errno == ERANGE || id > INT32_MAX)
		return -ERANGE;
	if (!instance_by_id(s, (int)id))
		return -ENODEV;
	o->id = (int)id;
	/* The most recently opened one receives: the list is in that order already. */
	log_line(&s->log, "mktty: connected to instance %d", o->id);
	return (ssize_t)len;
}

static int slots_used(const struct mktty *t, int id)
{
	int n = 0;

	for (const struct pending *p = t->pending; p; p = p->next)
		n += p->id == id;
	return n;
}

static int queue(struct mktty *t, int id, const char *data, size_t len)
{
	struct pending *p, **at = &t->pending;

	if (slots_used(t, id) >= SLOTS)
		return -ENOSPC;
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->id = id;
	p->used = len;
	memcpy(p->data, data, len);
	while (*at)
		at = &(*at)->next;
	*at = p;
	return 0;
}

void mktty_pump(struct mktty *t, int id)
{
	struct instance *i = instance_by_id(t->sim, id);

	if (!i || i->state != STATE_ACTIVE || !i->spawn || i->hung)
		return;
	for (struct pending **at = &t->pending; *at;) {
		struct pending *p = *at;

		if (p->id != id) {
			at = &p->next;
			continue;
		}
		p->sent += i->spawn->ops->input(i->spawn, p->data + p->sent, p->used - p->sent);
		if (p->sent < p->used)
			return;
		*at = p->next;
		free(p);
	}
}

void mktty_wipe_input(struct mktty *t, int id)
{
	for (struct pending **at = &t->pending; *at;) {
		struct pending *p = *at;

		if (p->id != id) {
			at = &p->next;
			continue;
		}
		*at = p->next;
		free(p);
	}
}

ssize_t mktty_write(struct mktty_open *o, const void *data, size_t len)
{
	struct instance *i;
	size_t done = 0;

	if (len == 0)
		return 0;
	if (!o->id)
		return choose(o, data, len);
	i = instance_by_id(o->tty->sim, o->id);
	if (!i || !i->image || i->ncpus == 0)
		return i ? -EINVAL : -ENODEV;
	while (done < len) {
		size_t part = len - done < MESSAGE_MAX ? len - done : MESSAGE_MAX;
		int ret = queue(o->tty, o->id, (const char *)data + done, part);

		if (ret < 0)
			return done ? (ssize_t)done : ret;
		done += part;
		mktty_pump(o->tty, o->id);
	}
	return (ssize_t)done;
}

ssize_t mktty_read(struct mktty_open *o, void *data, size_t len)
{
	size_t first;

	if (!o->id)
		return -ENOTCONN;
	if (o->len == 0)
		return -EAGAIN;
	if (len > o->len)
		len = o->len;
	first = RING - o->head < len ? RING - o->head : len;
	memcpy(data, o->ring + o->head, first);
	memcpy((char *)data + first, o->ring, len - first);
	o->head = (o->head + len) % RING;
	o->len -= len;
	return (ssize_t)len;
}

bool mktty_readable(const struct mktty_open *o)
{
	return o->id && o->len;
}

void mktty_output(struct mktty *t, int id, const void *data, size_t len)
{
	const char *p = data;

	for (struct mktty_open *o = t->opens; o; o = o->next) {
		if (o->id != id)
			continue;
		for (; len && o->len < RING - 1; len--)
			o->ring[(o->head + o->len++) % RING] = *p++;
		if (len)
			log_line(&t->sim->log, "mktty: ring of instance %d is full, %zu bytes lost",
				 id, len);
		t->on_data(t->arg, o);
		return; /* no broadcast */
	}
}
