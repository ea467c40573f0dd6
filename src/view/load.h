/* SPDX-License-Identifier: MIT */
/*
 * A recorded graph as a snapshot: the JSON of the reference or ours, bare or in the envelope
 * {"env":…,"content":{…}}. Members that the schema does not know are kept (attribute `extra`).
 */
#pragma once

#include "graph/snapshot.h"

/*
 * path: for messages. error (size bytes) gets one line that names the file, the place and the mend.
 * Unknown entity or edge types are an error that names the known ones. Of two entities with one id
 * the first wins; of two edges with one id the last wins (compat.md 4.3). 0 or -errno.
 */
int load_graph(const char *path, const char *data, size_t len, struct snapshot **ret, char *error,
	       size_t error_size);
/* The same, of a file. */
int load_graph_file(const char *path, struct snapshot **ret, char *error, size_t error_size);
