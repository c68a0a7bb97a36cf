// SPDX-License-Identifier: GPL-2.0-or-later
/* Every kind of change that mksplit makes, and so must be able to undo. */
#include "harness/change/undo.h"
#include "harness/machine/file_value.h"
#include "harness/mklinux/record.h"

static const struct undo_kind undo_file_value = {FILE_VALUE_KIND, file_value_undo};

const struct undo_kind *const undo_kinds[] = {
	&undo_processes,   &undo_folder, &undo_file_value, &undo_mk_mount, &undo_mk_pool,
	&undo_mk_instance, NULL,
};
