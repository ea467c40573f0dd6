/* SPDX-License-Identifier: MIT */
/*
 * The configuration: one value per key of fs-layout/config.toml, from which the table of keys,
 * their defaults, ranges and documentation are generated. Values come from the default, then the
 * environment (log level only), then the file, then the command line.
 *
 * Error texts are one line without the program's name: the caller prints "wittyfs: %s\n".
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config.gen.h"
#include "util/strbuf.h"

#define CONFIG_MAX_FILE	 (1024 * 1024)
#define CONFIG_ERROR_MAX 512
#define CONFIG_LEVEL_ENV "WITTY_PROFILER_ROOT_LOGGER_LEVEL"

struct config_node;

/* One key; generated. */
struct config_key_row {
	const char *name; /* dotted path */
	const char *doc;
	const char *fallback; /* the default, as JSON */
	enum config_type type;
	bool nullable;
	bool effect;	 /* false: accepted for compatibility only */
	double min, max; /* of numbers; bytes of a string; ns of a duration */
	const char *const *choices;
	unsigned int n_choices;
};

extern const struct config_key_row config_keys[CONFIG_KEY_COUNT];

struct config_value {
	bool given; /* by other than the default */
	bool null;
	bool boolean;
	int64_t integer;
	double real;
	uint64_t ns;
	unsigned int choice;
	char *text;
	char **strings; /* NULL-terminated */
	json_t *json;
};

struct config {
	struct config_value values[CONFIG_KEY_COUNT];
};

enum config_format {
	CONFIG_FORMAT_GUESS,
	CONFIG_FORMAT_JSON,
	CONFIG_FORMAT_YAML,
	CONFIG_FORMAT_TOML,
};

/* All defaults. 0 or -ENOMEM. deinit takes a zeroed config too. */
int config_init(struct config *c);
void config_deinit(struct config *c);
#define _cleanup_config_ _cleanup_(config_deinit)

/*
 * Overlays what a file says. On failure (-EINVAL: its content; -EFBIG: over CONFIG_MAX_FILE;
 * another -errno: it cannot be read) error has the line for the user and c is good for nothing but
 * deinit. The format is told by the file's suffix, else by its content.
 */
int config_load_file(struct config *c, const char *path, char *error, size_t size);
/* The same of a text in memory (NUL at text[len]); name stands for the file in errors. */
int config_load_text(struct config *c, const char *name, const char *text, size_t len,
		     enum config_format format, char *error, size_t size);
/* Takes the log level from the environment, where it is set. 0 or -EINVAL with error. */
int config_load_environment(struct config *c, char *error, size_t size);

/*
 * Sets a key from the text of a command line; `what` names it in the error, e.g. "--port".
 * 0, -EINVAL or -ERANGE with error, -ENOMEM.
 */
int config_set_text(struct config *c, enum config_key key, const char *what, const char *text,
		    char *error, size_t size);
/* Moves the values that were given to `over` into c. */
void config_override(struct config *c, struct config *over);

/* The getters assert the type of the key. Text belongs to the config; NULL for null. */
bool config_bool(const struct config *c, enum config_key key);
int64_t config_int(const struct config *c, enum config_key key);
double config_float(const struct config *c, enum config_key key);
uint64_t config_duration_ns(const struct config *c, enum config_key key);
const char *config_string(const struct config *c, enum config_key key);
/* Index into the key's choices (for log_level an enum log_level), -1 for null. */
int config_choice(const struct config *c, enum config_key key);
/* NULL-terminated. */
char *const *config_strings(const struct config *c, enum config_key key);
/* Of types objects and list: a JSON array. */
const json_t *config_json(const struct config *c, enum config_key key);
/* Was it set by a file, the environment or the command line? */
bool config_given(const struct config *c, enum config_key key);

/* Is the collector "socket" in the list, as "socket" or by its name in the reference,
 * SocketCollector? */
bool config_lists_collector(const struct config *c, enum config_key key, const char *collector);

/* Appends all of it as JSON, indent 2, newline at the end; loading that gives the same. 0 or
 * -ENOMEM. */
int config_dump(const struct config *c, struct strbuf *b);

/*
 * One value by its row, for options without a key. The error lacks its subject: "must be ..., not
 * ...". 0, -EINVAL, -ERANGE or -ENOMEM; ret is set on success only, config_value_deinit() frees it.
 */
int config_value_parse(const struct config_key_row *row, const struct config_node *node,
		       struct config_value *ret, char *error, size_t size);
int config_value_parse_text(const struct config_key_row *row, const char *text,
			    struct config_value *ret, char *error, size_t size);
void config_value_deinit(struct config_value *v);
