// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/io.h"
#include "harness/backend/qemu/guest.h"

/*
 * A guest under KVM is at its panic in two or three seconds. Nested or half-present KVM accepts
 * a guest and never runs it.
 */
#define BOOT_TIMEOUT_MS 20000
#define LOOK_EVERY_MS	50

/* Boots until the kernel panics: 1 when it did, 0 when it hung or ended otherwise. */
static int boots(const char *qemu, const char *image, const struct backend_env *env,
		 const char *log, struct err *e)
{
	cleanup_words struct words w = {0};
	struct local_process p = {0};
	cleanup_free char *text = NULL;
	char why[2048];
	char *file;
	int ret;

	words_add(&w, "%s", qemu);
	for (const char *const *word =
		     (const char *const[]){"-nodefaults", "-no-user-config", "-no-reboot",
					   "-display", "none", "-machine", "pc,accel=kvm", "-cpu",
					   "host", "-m", "256M", "-serial", "stdio", "-append",
					   "console=ttyS0 panic=-1 nokaslr", "-kernel", NULL};
	     *word; word++)
		words_add(&w, "%s", *word);
	words_add(&w, "%s", image);
	file = strdup(log);
	if (w.failed || !file) {
		free(file);
		return err_set(e, ENOMEM, "no memory");
	}
	ret = local_start(&p, w.v, -1, file, env, e);
	if (ret < 0)
		return ret;
	for (int ms = 0; ms < BOOT_TIMEOUT_MS; ms += LOOK_EVERY_MS) {
		if (local_state(&p, why, sizeof(why)) != KERNEL_RUNNING)
			break;
		poll(NULL, 0, LOOK_EVERY_MS);
	}
	local_stop(&p, 0);
	if (read_file_at(AT_FDCWD, log, 1 << 20, &text, NULL, e) < 0)
		return e->code;
	return strstr(text, "Linux version") && strstr(text, "Kernel panic");
}

int kvm_works(const char *qemu, const char *image, const struct backend_env *env, char **why,
	      struct err *e)
{
	char folder[PATH_MAX - 64], cache[PATH_MAX], log[PATH_MAX];
	cleanup_free char *boot = NULL, *known = NULL;
	struct err none = ERR_INIT;
	int ret;

	*why = NULL;
	if (access("/dev/kvm", R_OK | W_OK) < 0) {
		*why = strdup("/dev/kvm cannot be opened");
		return 0;
	}
	ret = state_folder(folder, sizeof(folder), e);
	if (ret < 0)
		return ret;
	if (read_file_at(AT_FDCWD, "/proc/sys/kernel/random/boot_id", 64, &boot, NULL, e) < 0)
		return e->code;
	boot[strcspn(boot, "\n")] = '\0';
	snprintf(cache, sizeof(cache), "%s/kvm-%s", folder, boot);
	if (read_file_at(AT_FDCWD, cache, 8, &known, NULL, &none) == 0) {
		ret = known[0] == 'y';
	} else {
		if (env->note)
			env->note(env->note_arg, "looking whether a guest boots under KVM");
		/* In the run's folder, which `mksplit cleanup` knows; doctor has none. */
		snprintf(log, sizeof(log), "%s/kvm-probe-%d.log",
			 env->journal ? env->run_dir : folder, (int)getpid());
		ret = boots(qemu, image, env, log, e);
		unlink(log);
		if (ret < 0)
			return ret;
		if (replace_file(cache, ret ? "y" : "n", 1, 0600, e) < 0)
			return e->code;
	}
	*why = strdup(ret ? "a guest was seen to boot" : "a guest that was started did not boot");
	return ret;
}
