/* SPDX-License-Identifier: MIT */
/* From a file to values: which format, which key, and an error line that says how to mend it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "daemon/config.h"
#include "daemon/config_parse.h"
#include "daemon/config_toml.h"
#include "daemon/suggest.h"
#include "util/fdio.h"

#define MAX_PATH_TEXT 256 /* of a dotted key */

struct loader {
	struct config *config;
	const char *name;
	char *error;
	size_t size;
	unsigned int seen[CONFIG_KEY_COUNT]; /* line, + 1 so that an unknown one counts */
};

/* "a.b.c" of a node; cut when longer than any key of ours. */
static void node_path(const struct config_node *n, char path[MAX_PATH_TEXT])
{
	size_t len;

	path[0] = '\0';
	if (!n->parent)
		return;
	node_path(n->parent, path);
	len = strlen(path);
	snprintf(path + len, MAX_PATH_TEXT - len, "%s%s", len ? "." : "", n->key ? n->key : "");
}

static int find_key(const char *path)
{
	for (unsigned int i = 0; i < CONFIG_KEY_COUNT; i++)
		if (strcmp(config_keys[i].name, path) == 0)
			return (int)i;
	return -ENOENT;
}

static bool is_section(const char *path)
{
	size_t len = strlen(path);

	for (unsigned int i = 0; i < CONFIG_KEY_COUNT; i++)
		if (strncmp(config_keys[i].name, path, len) == 0 && config_keys[i].name[len] == '.')
			return true;
	return false;
}

static const char *last_part(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot ? dot + 1 : path;
}

struct nearest {
	const char *path; /* what was written */
	unsigned int distance;
	char name[MAX_PATH_TEXT];
};

/* name[len] may be nearer than what is known so far. */
static void consider(struct nearest *best, const char *name, size_t len)
{
	char candidate[MAX_PATH_TEXT];
	unsigned int d;

	snprintf(candidate, sizeof(candidate), "%.*s", (int)len, name);
	d = suggest_distance(best->path, candidate);
	/* A few wrong letters first, then a right key in a wrong section, then what is left. */
	if (d > 3 && strcmp(last_part(best->path), last_part(candidate)) == 0)
		d = 4;
	else if (d > 3)
		d++;
	if (d >= best->distance)
		return;
	best->distance = d;
	memcpy(best->name, candidate, sizeof(candidate));
}

/* The known key or section nearest to best->path. */
static void find_nearest(struct nearest *best)
{
	best->distance = ~0u;
	for (unsigned int i = 0; i < CONFIG_KEY_COUNT; i++) {
		const char *name = config_keys[i].name;

		consider(best, name, strlen(name));
		for (const char *dot = strchr(name, '.'); dot; dot = strchr(dot + 1, '.'))
			consider(best, name, (size_t)(dot - name));
	}
}

static int refuse(struct loader *l, const struct config_node *n, const char *subject,
		  const char *what)
{
	if (n->line)
		snprintf(l->error, l->size, "%s:%u: %s%s", l->name, n->line, subject, what);
	else
		snprintf(l->error, l->size, "%s: %s%s", l->name, subject, what);
	return -EINVAL;
}

static int unknown_key(struct loader *l, const struct config_node *n, const char *path)
{
	char quoted[SUGGEST_QUOTED], what[CONFIG_ERROR_MAX];
	struct nearest best = {.path = path};

	find_nearest(&best);
	snprintf(what, sizeof(what), "%s: did you mean '%s'?", suggest_quote(path, quoted),
		 best.name);
	return refuse(l, n, "unknown key ", what);
}

static int set_key(struct loader *l, const struct config_node *n, unsigned int key)
{
	struct config_value v, *old = &l->config->values[key];
	char subject[MAX_PATH_TEXT + 8], why[CONFIG_ERROR_MAX];

	snprintf(subject, sizeof(subject), "'%s' ", config_keys[key].name);
	/* "a.b" as one key beside b in section a; the parsers only see the same key twice */
	if (l->seen[key]) {
		snprintf(why, sizeof(why), "is there twice, first on line %u: remove one",
			 l->seen[key] - 1);
		return refuse(l, n, subject, why);
	}
	l->seen[key] = n->line + 1;
	if (config_value_parse(&config_keys[key], n, &v, why, sizeof(why)) < 0)
		return refuse(l, n, subject, why);
	config_value_deinit(old);
	*old = v;
	old->given = true;
	return 0;
}

static int apply(struct loader *l, const struct config_node *section)
{
	int r = 0;

	for (const struct config_node *n = section->first; n && r == 0; n = n->next) {
		char path[MAX_PATH_TEXT], subject[MAX_PATH_TEXT + 8];
		int key;

		node_path(n, path);
		key = find_key(path);
		snprintf(subject, sizeof(subject), "'%s' ", path);
		if (key >= 0)
			r = set_key(l, n, (unsigned int)key);
		else if (!is_section(path))
			r = unknown_key(l, n, path);
		else if (n->kind == CONFIG_NODE_MAP)
			r = apply(l, n);
		else if (n->kind != CONFIG_NODE_NULL) /* "section:" of YAML with nothing below */
			r = refuse(l, n, subject, "is a section of keys, it has no value itself");
	}
	return r;
}

static const struct format_row {
	const char *name;
	int (*parse)(struct config_tree *t, const char *text, size_t len);
	const char *suffixes[2];
} formats[] = {
	[CONFIG_FORMAT_JSON] = {"JSON", config_parse_json, {".json"}},
	[CONFIG_FORMAT_YAML] = {"YAML", config_parse_yaml, {".yaml", ".yml"}},
	[CONFIG_FORMAT_TOML] = {"TOML", config_parse_toml, {".toml"}},
};

/* The libraries' texts may quote bytes of the file: nothing of it may break the line. */
static void one_line(char *text)
{
	for (unsigned char *p = (unsigned char *)text; *p; p++)
		if (*p < 0x20 || *p == 0x7f)
			*p = ' ';
}

static void syntax_error(const char *name, const char *format, struct config_tree *t, char *error,
			 size_t size)
{
	char place[32] = "";

	one_line(t->error);
	if (t->error_line && t->error_column)
		snprintf(place, sizeof(place), "%u:%u:", t->error_line, t->error_column);
	else if (t->error_line)
		snprintf(place, sizeof(place), "%u:", t->error_line);
	snprintf(error, size, "%s:%s %s (read as %s)", name, place, t->error, format);
}

/* Without a format the first that makes a map of it is right; TOML before YAML, which takes much.
 */
static int guess(struct config_tree *t, const char *name, const char *text, size_t len, char *error,
		 size_t size)
{
	static const enum config_format order[] = {CONFIG_FORMAT_JSON, CONFIG_FORMAT_TOML,
						   CONFIG_FORMAT_YAML};
	bool braces = text[strspn(text, " \t\r\n")] == '{';

	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		int r = formats[order[i]].parse(t, text, len);

		if (r == 0 && t->root->kind == CONFIG_NODE_MAP)
			return 0;
		if (r == -ENOMEM || braces) {
			syntax_error(name, formats[order[i]].name, t, error, size);
			return -EINVAL;
		}
		config_tree_deinit(t);
	}
	snprintf(error, size,
		 "%s: neither JSON nor TOML nor YAML: name it .json, .toml or .yaml to see why",
		 name);
	return -EINVAL;
}

static int parse(struct config_tree *t, const char *name, const char *text, size_t len,
		 enum config_format format, char *error, size_t size)
{
	if (format == CONFIG_FORMAT_GUESS)
		return guess(t, name, text, len, error, size);
	if (formats[format].parse(t, text, len) < 0) {
		syntax_error(name, formats[format].name, t, error, size);
		return -EINVAL;
	}
	if (t->root->kind != CONFIG_NODE_MAP) {
		snprintf(error, size, "%s: must hold keys and values at its top (read as %s)", name,
			 formats[format].name);
		return -EINVAL;
	}
	return 0;
}

int config_load_text(struct config *c, const char *name, const char *text, size_t len,
		     enum config_format format, char *error, size_t size)
{
	static const char bom[] = "\xef\xbb\xbf";
	_cleanup_(config_tree_deinit) struct config_tree t = {0};
	struct loader l = {.config = c, .name = name, .error = error, .size = size};
	int r;

	if (len >= 3 && memcmp(text, bom, 3) == 0) {
		text += 3;
		len -= 3;
	}
	r = parse(&t, name, text, len, format, error, size);
	if (r < 0)
		return r;
	return apply(&l, t.root);
}

static enum config_format format_by_suffix(const char *path)
{
	const char *dot = strrchr(path, '.');

	for (unsigned int i = CONFIG_FORMAT_JSON; dot && i < ARRAY_SIZE(formats); i++)
		for (unsigned int j = 0; j < ARRAY_SIZE(formats[i].suffixes); j++)
			if (formats[i].suffixes[j] && strcasecmp(dot, formats[i].suffixes[j]) == 0)
				return (enum config_format)i;
	return CONFIG_FORMAT_GUESS;
}

int config_load_file(struct config *c, const char *path, char *error, size_t size)
{
	_cleanup_free_ char *text = NULL;
	char name[CONFIG_ERROR_MAX / 2];
	size_t len;
	int r;

	/* it stands at the head of every error line */
	snprintf(name, sizeof(name), "%s", path);
	one_line(name);
	r = fdio_read_all_at(AT_FDCWD, path, CONFIG_MAX_FILE + 1, &text, &len, NULL);
	if (r < 0) {
		snprintf(error, size, "%s: cannot read the configuration: %s", name, strerror(-r));
		return r;
	}
	if (len > CONFIG_MAX_FILE) {
		snprintf(error, size, "%s: larger than %d bytes: not a configuration", name,
			 CONFIG_MAX_FILE);
		return -EFBIG;
	}
	return config_load_text(c, name, text, len, format_by_suffix(path), error, size);
}

int config_load_environment(struct config *c, char *error, size_t size)
{
	const char *level = getenv(CONFIG_LEVEL_ENV);

	if (!level || !*level)
		return 0;
	return config_set_text(c, CONFIG_LOG_LEVEL, "environment variable " CONFIG_LEVEL_ENV, level,
			       error, size);
}
