// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <string.h>

#include "sim/sim.h"

/*
 * What the kernel would silently ignore or misread in a blob (6.1, 6.3): strict mode names
 * it. The grammar is a table; a property says which lengths are read as meant.
 */

enum length {
	ANY,
	STRING,
	U32,
	U64,
	U64_LIST,
	U32_ONE_OF_LIST, /* only the first entry is used */
	RANGE /* two u64 */
};

struct property {
	const char *name;
	enum length length;
	bool later; /* read by G2b only */
};

struct node_rule {
	const char *name; /* a name that ends in '@' stands for any unit */
	const struct property *properties; /* ended by a NULL name */
	const struct node_rule *children; /* ended by a NULL name */
	bool later;
};

#define PROPERTIES(...) ((const struct property[]){__VA_ARGS__, {0}})
#define CHILDREN(...)	((const struct node_rule[]){__VA_ARGS__, {0}})
#define NO_PROPERTIES	((const struct property[]){{0}})

#define DEVICE                                                                      \
	PROPERTIES({"device-type", STRING}, {"pci-id", STRING}, {"vendor-id", U32}, \
		   {"device-id", U32}, {"device-name", STRING})

static const struct node_rule baseline_rule = {
	"",
	PROPERTIES({"compatible", STRING}),
	CHILDREN({"resources", PROPERTIES({"cpus", U64_LIST}),
		  CHILDREN({"memory@", PROPERTIES({"size", U64}, {"numa-node-id", U32})},
			   {"devices", NO_PROPERTIES, CHILDREN({"*", DEVICE})})},
		 {"aliases", PROPERTIES({"*", STRING}), NULL, true}),
};

#define CPU_ITEM CHILDREN({"cpu@", PROPERTIES({"reg", U64}, {"numa-node-id", U32}, {"flags", U32})})
#define PCI_ITEM                                                                                \
	CHILDREN({"pci@", PROPERTIES({"pci-id", STRING}, {"alias", STRING}, {"driver", STRING}, \
				     {"flags", U32})})

static const struct node_rule pool_rule = {
	"__overlay__",
	NO_PROPERTIES,
	CHILDREN({"memory-add", NO_PROPERTIES,
		  CHILDREN({"memory@", PROPERTIES({"size", U64}, {"numa-node-id", U32})})},
		 {"memory-remove", NO_PROPERTIES, CHILDREN({"memory@", PROPERTIES({"reg", RANGE})})},
		 {"cpu-add", NO_PROPERTIES, CHILDREN({"cpu@", PROPERTIES({"reg", U64})})},
		 {"cpu-remove", NO_PROPERTIES, CHILDREN({"cpu@", PROPERTIES({"reg", U64})})},
		 {"device-add", NO_PROPERTIES, PCI_ITEM}, {"device-remove", NO_PROPERTIES, PCI_ITEM}),
};

static const struct node_rule instances_rule = {
	"__overlay__",
	NO_PROPERTIES,
	CHILDREN({"instance-create", PROPERTIES({"instance-name", STRING}, {"id", U32}),
		  CHILDREN({"resources",
			    PROPERTIES({"memory-bytes", U64}, {"cpus", U64_LIST},
				       {"numa-nodes", U32_ONE_OF_LIST}),
			    CHILDREN({"devices", NO_PROPERTIES, CHILDREN({"*", DEVICE}), true},
				     {"virtio", NO_PROPERTIES,
				      CHILDREN({"*", PROPERTIES({"device-id", U32}, {"queues", U32},
								{"queue-size", U32})}),
				      true})},
			   {"chosen", NO_PROPERTIES,
			    CHILDREN({"multikernel,host-tree", PROPERTIES({"*", ANY})}), true})},
		 {"instance-remove", PROPERTIES({"instance-name", STRING})}),
};

#define MEMORY_ITEM \
	CHILDREN({"memory@", PROPERTIES({"reg", RANGE}, {"numa-node-id", U32}, {"mem-type", U32})})

static const struct node_rule instance_rule = {
	"__overlay__",
	NO_PROPERTIES,
	CHILDREN({"cpu-remove", NO_PROPERTIES, CPU_ITEM}, {"cpu-add", NO_PROPERTIES, CPU_ITEM},
		 {"memory-remove", NO_PROPERTIES, MEMORY_ITEM},
		 {"memory-add", NO_PROPERTIES, MEMORY_ITEM},
		 {"device-remove", NO_PROPERTIES, PCI_ITEM}, {"device-add", NO_PROPERTIES, PCI_ITEM}),
};

static bool name_matches(const char *name, const char *rule)
{
	size_t len = strlen(rule);

	if (strcmp(rule, "*") == 0)
		return true;
	if (rule[0] && rule[len - 1] == '@')
		return strncmp(name, rule, len) == 0;
	return strcmp(name, rule) == 0;
}

static const char *wrong_length(enum length wanted, const void *value, uint32_t len)
{
	switch (wanted) {
	case STRING:
		return len && !((const char *)value)[len - 1] ? NULL : "is not a string with a NUL";
	case U32:
		return len == 4 ? NULL : "is not a 4-byte number";
	case U64:
		return len == 8 ? NULL : "is not an 8-byte number";
	case U64_LIST:
		return len && len % 8 == 0 ? NULL : "is not a list of 8-byte numbers";
	case U32_ONE_OF_LIST:
		if (!len || len % 4)
			return "is not a list of 4-byte numbers";
		return len == 4 ? NULL : "has more entries than the first, which alone is used";
	case RANGE:
		return len == 16 ? NULL : "is not an 8-byte base and an 8-byte size";
	case ANY:
		break;
	}
	return NULL;
}

static void check_property(struct sim *s, const char *where, const struct node_rule *rule,
			   const char *name, const void *value, uint32_t len)
{
	for (const struct property *p = rule->properties; p->name; p++) {
		const char *wrong;

		if (!name_matches(name, p->name))
			continue;
		if (p->later && s->options.abi != ABI_G2B)
			break;
		wrong = wrong_length(p->length, value, len);
		if (wrong)
			log_strict(&s->log, "%s: property %s (%u bytes) %s", where, name, len, wrong);
		return;
	}
	log_strict(&s->log, "%s: property %s is ignored by this generation", where, name);
}

static const struct node_rule *child_rule(struct sim *s, const struct node_rule *rule,
					  const char *name)
{
	for (const struct node_rule *c = rule->children; c && c->name; c++)
		if (name_matches(name, c->name) && (!c->later || s->options.abi == ABI_G2B))
			return c;
	return NULL;
}

static void check_node(struct sim *s, const struct blob *b, int node, const char *where,
		       const struct node_rule *rule)
{
	for (int p = blob_first_property(b, node); p >= 0; p = blob_next_property(b, p)) {
		const void *value;
		uint32_t len;
		const char *name = blob_property(b, p, &value, &len);

		check_property(s, where, rule, name, value, len);
	}
	for (int c = blob_child(b, node); c >= 0; c = blob_next(b, c)) {
		const char *name = blob_name(b, c);
		const struct node_rule *found = child_rule(s, rule, name);
		char path[512];

		for (int d = blob_child(b, node); d != c; d = blob_next(b, d))
			if (strcmp(blob_name(b, d), name) == 0)
				log_strict(&s->log, "%s: two nodes are called %s", where, name);
		snprintf(path, sizeof(path), "%s/%s", where, name);
		if (found)
			check_node(s, b, c, path, found);
		else
			log_strict(&s->log, "%s: node is ignored by this generation", path);
	}
}

void grammar_check_baseline(struct sim *s, const struct blob *b)
{
	check_node(s, b, blob_root(b), "baseline", &baseline_rule);
}

static void check_fragment(struct sim *s, const struct blob *b, int fragment)
{
	const char *name = blob_name(b, fragment);
	const char *target = blob_string(b, fragment, "target-path");
	const struct node_rule *rule = &instance_rule;

	for (int p = blob_first_property(b, fragment); p >= 0; p = blob_next_property(b, p)) {
		const void *value;
		uint32_t len;
		const char *property = blob_property(b, p, &value, &len);

		if (strcmp(property, "target-path") != 0)
			log_strict(&s->log, "%s: property %s is ignored", name, property);
	}
	if (!target) {
		log_strict(&s->log, "%s: no target-path: not the addressing of this generation",
			   name);
		return;
	}
	if (strcmp(target, "/resources") == 0)
		rule = &pool_rule;
	else if (strcmp(target, "/instances") == 0)
		rule = &instances_rule;
	for (int c = blob_child(b, fragment); c >= 0; c = blob_next(b, c)) {
		char path[128];

		snprintf(path, sizeof(path), "%s/%s", name, blob_name(b, c));
		if (strcmp(blob_name(b, c), "__overlay__") == 0)
			check_node(s, b, c, path, rule);
		else
			log_strict(&s->log, "%s: node is ignored", path);
	}
}

void grammar_check_overlay(struct sim *s, const struct blob *b)
{
	int root = blob_root(b);

	for (int p = blob_first_property(b, root); p >= 0; p = blob_next_property(b, p)) {
		const void *value;
		uint32_t len;
		const char *name = blob_property(b, p, &value, &len);

		if (strcmp(name, "mk,resources") != 0 && strcmp(name, "compatible") != 0)
			log_strict(&s->log, "overlay: property %s is ignored", name);
		else if (!len || ((const char *)value)[len - 1])
			log_strict(&s->log, "overlay: property %s has no NUL", name);
		else if (len > 256)
			log_strict(&s->log, "overlay: property %s is cut to 255 bytes", name);
	}
	for (int c = blob_child(b, root); c >= 0; c = blob_next(b, c)) {
		if (strncmp(blob_name(b, c), "fragment@", 9) == 0)
			check_fragment(s, b, c);
		else
			log_strict(&s->log, "overlay: node %s is ignored", blob_name(b, c));
	}
}
