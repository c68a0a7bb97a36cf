// SPDX-License-Identifier: GPL-2.0-or-later
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "harness/backend/qemu/guest.h"

#define PREFIX "vmlinuz-"

/* The newest by version of those in /boot that can be read, or NULL. The caller frees. */
static char *newest(void)
{
	struct dirent **entries;
	int n = scandir("/boot", &entries, NULL, versionsort);
	char *found = NULL;

	for (int i = n - 1; i >= 0; i--) {
		char *path;

		if (!found && strncmp(entries[i]->d_name, PREFIX, strlen(PREFIX)) == 0 &&
		    asprintf(&path, "/boot/%s", entries[i]->d_name) >= 0) {
			if (access(path, R_OK) == 0)
				found = path;
			else
				free(path);
		}
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
	return found;
}

int guest_image(char **path, const struct plan_kernel *k, struct err *e)
{
	cleanup_free char *own = NULL;
	struct utsname u;

	if (strcmp(k->image, "auto") != 0) {
		if (access(k->image, R_OK) < 0)
			return err_sys(e, "kernel \"%s\": %s", k->name, k->image);
		*path = strdup(k->image);
		return *path ? 0 : err_set(e, ENOMEM, "no memory");
	}
	uname(&u);
	if (asprintf(&own, "/boot/" PREFIX "%s", u.release) < 0) {
		own = NULL;
		return err_set(e, ENOMEM, "no memory");
	}
	*path = access(own, R_OK) == 0 ? take_ptr(own) : newest();
	return *path ? 0
		     : err_set(e, ENOENT,
			       "no kernel image in /boot can be read: install one (Debian: "
			       "linux-image-cloud-amd64), or name one in the plan");
}
