// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/image.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum {
	NOTE_TYPE = 0x4d4b,
	NOTE_DESC_SIZE = 8,
	MAX_HEADERS = 65535
};

static bool inside(size_t len, uint64_t offset, uint64_t size)
{
	return offset <= len && size <= len - offset;
}

static Elf64_Phdr header_at(const uint8_t *p, const Elf64_Ehdr *eh, int i)
{
	Elf64_Phdr ph;

	memcpy(&ph, p + eh->e_phoff + (uint64_t)i * sizeof(ph), sizeof(ph));
	return ph;
}

static uint64_t pad4(uint64_t n)
{
	return (n + 3) & ~UINT64_C(3);
}

/* The note's value, or 0. */
static uint64_t find_note(const uint8_t *p, uint64_t size)
{
	uint64_t at = 0;

	while (size - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr n;
		uint64_t name, desc;

		memcpy(&n, p + at, sizeof(n));
		name = at + sizeof(n);
		desc = name + pad4(n.n_namesz);
		if (desc > size || n.n_descsz > size - desc)
			return 0;
		if (n.n_type == NOTE_TYPE && n.n_namesz == sizeof("Linux") &&
		    memcmp(p + name, "Linux", sizeof("Linux")) == 0 && n.n_descsz == NOTE_DESC_SIZE) {
			uint64_t v = 0;

			for (int i = NOTE_DESC_SIZE - 1; i >= 0; i--)
				v = v << 8 | p[desc + i];
			return v;
		}
		at = desc + pad4(n.n_descsz);
		if (at > size)
			return 0;
	}
	return 0;
}

static int check_header(const uint8_t *p, size_t len, Elf64_Ehdr *eh, struct err *e)
{
	if (len < sizeof(*eh) || memcmp(p, ELFMAG, SELFMAG) != 0)
		return err_set(e, ENOEXEC, "not an ELF file");
	memcpy(eh, p, sizeof(*eh));
	if (eh->e_ident[EI_CLASS] != ELFCLASS64 || eh->e_ident[EI_DATA] != ELFDATA2LSB)
		return err_set(e, ENOEXEC, "not a little-endian ELF64 file");
	if (eh->e_machine != EM_X86_64 || (eh->e_type != ET_EXEC && eh->e_type != ET_DYN))
		return err_set(e, ENOEXEC, "machine %u, type %u", eh->e_machine, eh->e_type);
	if (eh->e_phnum == 0 || !inside(len, eh->e_phoff, (uint64_t)eh->e_phnum * sizeof(Elf64_Phdr)))
		return err_set(e, EINVAL, "program headers outside of the file");
	return 0;
}

static const char *unsafe_segment(const Elf64_Phdr *ph, size_t len, bool first, uint64_t end)
{
	if (!inside(len, ph->p_offset, ph->p_filesz))
		return "a segment lies outside of the file";
	if (ph->p_filesz > ph->p_memsz)
		return "a segment has more bytes in the file than in memory";
	if (ph->p_paddr + ph->p_memsz < ph->p_paddr)
		return "a segment wraps around";
	if (!first && ph->p_paddr < end)
		return "segments overlap or do not ascend";
	return NULL;
}

int image_check(const void *data, size_t len, struct image_info *info, const char **unsafe,
		struct err *e)
{
	const uint8_t *p = data;
	uint64_t low = UINT64_MAX, high = 0, end = 0, note = 0;
	bool first = true;
	Elf64_Ehdr eh;

	*unsafe = NULL;
	if (check_header(p, len, &eh, e) < 0)
		return e->code;
	if (eh.e_phentsize != sizeof(Elf64_Phdr))
		*unsafe = "program headers of another size";
	for (int i = 0; i < eh.e_phnum; i++) {
		Elf64_Phdr ph = header_at(p, &eh, i);

		if (ph.p_type == PT_NOTE && !note && inside(len, ph.p_offset, ph.p_filesz))
			note = find_note(p + ph.p_offset, ph.p_filesz);
		if (ph.p_type != PT_LOAD)
			continue;
		if (!*unsafe)
			*unsafe = unsafe_segment(&ph, len, first, end);
		first = false;
		end = ph.p_paddr + ph.p_memsz;
		if (ph.p_paddr < low)
			low = ph.p_paddr;
		if (end > high)
			high = end;
	}
	if (!note)
		return err_set(e, ENOEXEC, "no multikernel note (name Linux, type 0x%x)", NOTE_TYPE);
	if (first)
		return err_set(e, ENOEXEC, "no segment to load");
	if (!*unsafe && (note < low || note >= high))
		*unsafe = "the note's entry lies in no segment";
	info->entry = note - low;
	info->span = high - low;
	return 0;
}

int image_write_stand_in(struct buf *out)
{
	enum {
		BASE = 0x1000000,
		TEXT = 0x1000,
		MEMORY = 0x400000
	};
	struct {
		Elf64_Nhdr header;
		char name[8];
		uint64_t entry;
	} __attribute__((packed))
	note = {{sizeof("Linux"), NOTE_DESC_SIZE, NOTE_TYPE}, "Linux", BASE};
	Elf64_Ehdr eh = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_EXEC,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_entry = BASE,
		.e_phoff = sizeof(Elf64_Ehdr),
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 2,
	};
	Elf64_Phdr ph[2] = {
		{.p_type = PT_LOAD,
		 .p_flags = PF_R | PF_X,
		 .p_offset = TEXT,
		 .p_vaddr = BASE,
		 .p_paddr = BASE,
		 .p_filesz = 16,
		 .p_memsz = MEMORY,
		 .p_align = TEXT},
		{.p_type = PT_NOTE,
		 .p_flags = PF_R,
		 .p_offset = sizeof(eh) + sizeof(ph),
		 .p_filesz = sizeof(note),
		 .p_memsz = sizeof(note),
		 .p_align = 4},
	};
	/* What a real processor would do with it: stop, for ever. */
	static const uint8_t halt[16] = {0xf4, 0xeb, 0xfd};
	static const char zero;

	*out = BUF_INIT;
	buf_add(out, &eh, sizeof(eh));
	buf_add(out, ph, sizeof(ph));
	buf_add(out, &note, sizeof(note));
	while (out->len < TEXT && !out->failed)
		buf_add(out, &zero, 1);
	buf_add(out, halt, sizeof(halt));
	return out->failed ? -ENOMEM : 0;
}
