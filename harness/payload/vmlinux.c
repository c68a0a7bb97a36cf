// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/payload/vmlinux.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* The note of docs/mklinux-abi.md 8.4. */
#define NOTE_NAME "Linux"
#define NOTE_TYPE 0x4d4b

/* Linux's vmlinux has about ten program headers. */
#define SEGMENTS_MAX 128
#define MIB	     (UINT64_C(1) << 20)

static int bad(struct err *e, const char *what)
{
	return err_set(e, ENOEXEC, "%s", what);
}

static int check_header(const Elf64_Ehdr *h, size_t len, struct err *e)
{
	if (len < sizeof(*h) || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0)
		return bad(e, "no ELF file");
	if (h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_ident[EI_DATA] != ELFDATA2LSB)
		return bad(e, "an ELF file of 32 bits or the other byte order");
	if (h->e_machine != EM_X86_64)
		return bad(e, "an ELF file of another architecture than x86-64");
	if (h->e_type != ET_EXEC && h->e_type != ET_DYN)
		return bad(e, "an ELF file that is no program (an object file or a core?)");
	if (h->e_phentsize != sizeof(Elf64_Phdr))
		return bad(e, "program headers of an unknown size");
	if (h->e_phnum == 0 || h->e_phnum > SEGMENTS_MAX)
		return bad(e, "no program headers, or too many");
	if (h->e_phoff > len || len - h->e_phoff < h->e_phnum * sizeof(Elf64_Phdr))
		return bad(e, "the file is cut off: its program headers lie behind its end");
	return 0;
}

static uint64_t pad4(uint64_t n)
{
	return (n + 3) & ~UINT64_C(3);
}

/* The entry in a note segment that lies inside the file; 0 when it has none. */
static uint64_t note_entry(const unsigned char *p, uint64_t size)
{
	while (size >= sizeof(Elf64_Nhdr)) {
		uint64_t name, desc, entry;
		Elf64_Nhdr n;

		memcpy(&n, p, sizeof(n));
		name = sizeof(n);
		desc = name + pad4(n.n_namesz);
		if (desc > size || pad4(n.n_descsz) > size - desc)
			return 0;
		if (n.n_type == NOTE_TYPE && n.n_namesz == sizeof(NOTE_NAME) && n.n_descsz == 8 &&
		    memcmp(p + name, NOTE_NAME, sizeof(NOTE_NAME)) == 0) {
			memcpy(&entry, p + desc, sizeof(entry));
			return entry;
		}
		p += desc + pad4(n.n_descsz);
		size -= desc + pad4(n.n_descsz);
	}
	return 0;
}

static int add_segment(struct vmlinux_info *info, const Elf64_Phdr *p, struct err *e)
{
	uint64_t end = p->p_paddr + p->p_memsz;

	if (p->p_filesz > p->p_memsz)
		return bad(e, "a segment has more bytes in the file than in memory");
	if (end < p->p_paddr)
		return bad(e, "a segment wraps around the end of memory");
	if (info->segments == 0)
		info->lowest = p->p_paddr;
	else if (p->p_paddr < info->highest)
		return bad(e, "its segments overlap or do not ascend");
	info->highest = end;
	info->segments++;
	return 0;
}

static bool inside_segment(const Elf64_Phdr *p, int n, uint64_t entry)
{
	for (int i = 0; i < n; i++)
		if (p[i].p_type == PT_LOAD && entry >= p[i].p_paddr &&
		    entry - p[i].p_paddr < p[i].p_memsz)
			return true;
	return false;
}

static void reach(struct vmlinux_info *info, uint64_t end)
{
	if (end > info->end)
		info->end = (size_t)end;
}

int vmlinux_check(const void *data, size_t len, struct vmlinux_info *info, struct err *e)
{
	Elf64_Phdr segments[SEGMENTS_MAX];
	Elf64_Ehdr h = {0};
	int rc;

	*info = (struct vmlinux_info){0};
	memcpy(&h, data, len < sizeof(h) ? len : sizeof(h));
	rc = check_header(&h, len, e);
	if (rc)
		return rc;
	memcpy(segments, (const char *)data + h.e_phoff, h.e_phnum * sizeof(*segments));
	reach(info, h.e_phoff + h.e_phnum * sizeof(*segments));
	if (h.e_shoff <= len && h.e_shnum * (size_t)h.e_shentsize <= len - h.e_shoff)
		reach(info, h.e_shoff + h.e_shnum * (size_t)h.e_shentsize);
	for (int i = 0; i < h.e_phnum; i++) {
		const Elf64_Phdr *p = &segments[i];

		if (p->p_type != PT_LOAD && p->p_type != PT_NOTE)
			continue;
		if (p->p_offset > len || len - p->p_offset < p->p_filesz)
			return bad(e, "the file is cut off: a segment lies behind its end");
		reach(info, p->p_offset + p->p_filesz);
		if (p->p_type == PT_LOAD)
			rc = add_segment(info, p, e);
		else if (!info->entry)
			info->entry =
				note_entry((const unsigned char *)data + p->p_offset, p->p_filesz);
		if (rc)
			return rc;
	}
	if (info->segments == 0)
		return bad(e, "nothing to load in it");
	if (info->entry == 0)
		return bad(e, "a kernel without the multikernel note: build it with "
			      "CONFIG_MULTIKERNEL=y from the tree of the host's kernel");
	if (!inside_segment(segments, h.e_phnum, info->entry))
		return bad(e, "its multikernel note points out of its segments");
	return 0;
}

uint64_t vmlinux_memory_needed(const struct vmlinux_info *info, uint64_t initrd)
{
	uint64_t span = info->highest - info->lowest;

	/*
	 * The kernel is placed on a 2 MiB boundary, the initramfs on a page; parameters and
	 * control block stay below 1 MiB each. 64 MiB are to spare (8.8), and the kernel needs
	 * as much again to come up.
	 */
	return (span + 2 * MIB - 1) / (2 * MIB) * (2 * MIB) + 2 * MIB +
	       (initrd + 4095) / 4096 * 4096 + 2 * MIB + 64 * MIB + 64 * MIB;
}
