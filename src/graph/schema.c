/* SPDX-License-Identifier: MIT */
#include "graph/schema.h"

#include <string.h>

static const struct type_schema *find_type(const struct type_schema *types, unsigned int n,
					   const char *name)
{
	for (unsigned int i = 0; i < n; i++)
		if (strcmp(types[i].name, name) == 0 || strcmp(types[i].short_name, name) == 0)
			return &types[i];
	return NULL;
}

const struct type_schema *schema_entity(const char *name)
{
	return find_type(entity_types, ENTITY_TYPE_COUNT, name);
}

const struct type_schema *schema_edge(const char *name)
{
	return find_type(edge_types, EDGE_TYPE_COUNT, name);
}

int schema_attr(const struct type_schema *type, const char *name, size_t len)
{
	for (unsigned int i = 0; i < type->n_attrs; i++)
		if (strlen(type->attrs[i].name) == len &&
		    memcmp(type->attrs[i].name, name, len) == 0)
			return (int)i;
	return -1;
}
