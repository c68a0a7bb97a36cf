// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness/payload/strip.h"

#include <elf.h>
#include <string.h>

size_t elf_loaded_length(unsigned char *data, size_t len)
{
	Elf64_Ehdr head;
	size_t end = 0;

	if (len < sizeof(head))
		return len;
	memcpy(&head, data, sizeof(head));
	if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    head.e_ident[EI_DATA] != ELFDATA2LSB || head.e_phentsize != sizeof(Elf64_Phdr) ||
	    head.e_phoff > len || head.e_phnum > (len - head.e_phoff) / sizeof(Elf64_Phdr))
		return len;
	for (int i = 0; i < head.e_phnum; i++) {
		Elf64_Phdr p;

		memcpy(&p, data + head.e_phoff + i * sizeof(p), sizeof(p));
		if (p.p_offset > len || p.p_filesz > len - p.p_offset)
			return len;
		if (p.p_offset + p.p_filesz > end)
			end = p.p_offset + p.p_filesz;
	}
	if (end < head.e_phoff + head.e_phnum * sizeof(Elf64_Phdr))
		return len;
	head.e_shoff = 0;
	head.e_shnum = 0;
	head.e_shstrndx = SHN_UNDEF;
	memcpy(data, &head, sizeof(head));
	return end;
}
