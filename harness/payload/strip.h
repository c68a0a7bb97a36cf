/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MKSPLIT_PAYLOAD_STRIP_H
#define MKSPLIT_PAYLOAD_STRIP_H

#include <stddef.h>

/*
 * How much of a 64-bit little-endian ELF executable its kernel needs to run it: everything up to the
 * end of the last loaded segment. Symbols and debugging data stand behind that, and section
 * headers, which nothing needs at run time (elf(5)). Clears the header's word of them in place.
 * Returns len unchanged for what is not such a file.
 */
size_t elf_loaded_length(unsigned char *data, size_t len);

#endif
