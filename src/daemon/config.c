/* SPDX-License-Identifier: MIT */
/* Defaults, getters and the dump. Loading is in config_load.c, single values in config_value.c. */
#include "daemon/config.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "daemon/config_parse.h"
#include "util/text.h"

/* The defaults are JSON and go the same way as a file, so they obey the same table. */
static int set_default(const struct config_key_row *row, struct config_value *v)
{
	_cleanup_(config_tree_deinit) struct config_tree t = {0};
	char text[1024], error[CONFIG_ERROR_MAX];
	int n, r;

	n = snprintf(text, sizeof(text), "[%s]", row->fallback);
	assert(n > 0 && (size_t)n < sizeof(text));
	r = config_parse_json(&t, text, (size_t)n);
	if (r == 0)
		r = config_value_parse(row, t.root->first, v, error, sizeof(error));
	assert(r == 0 || r == -ENOMEM);
	return r;
}

int config_init(struct config *c)
{
	*c = (struct config){0};
	for (unsigned int i = 0; i < CONFIG_KEY_COUNT; i++) {
		int r = set_default(&config_keys[i], &c->values[i]);

		if (r < 0) {
			config_deinit(c);
			return r;
		}
	}
	return 0;
}

void config_deinit(struct config *c)
{
	for (unsigned int i = 0; i < CONFIG_KEY_COUNT; i++)
		config_value_deinit(&c->values[i]);
}

void config_override(struct config *c, struct config *over)
{
	for (unsigned int i = 0; i < CONFIG_KEY_COUNT; i++) {
		if (!over->values[i].given)
			continue;
		config_value_deinit(&c->values[i]);
		c->values[i] = over->values[i];
		over->values[i] = (struct config_value){0};
	}
}

int config_set_text(struct config *c, enum config_key key, const char *what, const char *text,
		    char *error, size_t size)
{
	struct config_value v;
	char why[CONFIG_ERROR_MAX];
	int r;

	r = config_value_parse_text(&config_keys[key], text, &v, why, sizeof(why));
	if (r < 0) {
		snprintf(error, size, "%s %s", what, why);
		return r;
	}
	config_value_deinit(&c->values[key]);
	c->values[key] = v;
	c->values[key].given = true;
	return 0;
}

static const struct config_value *get(const struct config *c, enum config_key key,
				      enum config_type type)
{
	assert(key < CONFIG_KEY_COUNT && config_keys[key].type == type);
	return &c->values[key];
}

bool config_bool(const struct config *c, enum config_key key)
{
	return get(c, key, CONFIG_TYPE_BOOL)->boolean;
}

int64_t config_int(const struct config *c, enum config_key key)
{
	return get(c, key, CONFIG_TYPE_INT)->integer;
}

double config_float(const struct config *c, enum config_key key)
{
	return get(c, key, CONFIG_TYPE_FLOAT)->real;
}

uint64_t config_duration_ns(const struct config *c, enum config_key key)
{
	return get(c, key, CONFIG_TYPE_DURATION)->ns;
}

const char *config_string(const struct config *c, enum config_key key)
{
	return get(c, key, CONFIG_TYPE_STRING)->text;
}

int config_choice(const struct config *c, enum config_key key)
{
	const struct config_value *v = get(c, key, CONFIG_TYPE_ENUM);

	return v->null ? -1 : (int)v->choice;
}

char *const *config_strings(const struct config *c, enum config_key key)
{
	return get(c, key, CONFIG_TYPE_STRINGS)->strings;
}

const json_t *config_json(const struct config *c, enum config_key key)
{
	enum config_type type = config_keys[key].type;

	assert(type == CONFIG_TYPE_OBJECTS || type == CONFIG_TYPE_LIST);
	return get(c, key, type)->json;
}

bool config_given(const struct config *c, enum config_key key)
{
	return c->values[key].given;
}

/* Equal but for case and '_', when the longer has nothing more than "Collector". */
static bool same_collector(const char *listed, const char *name)
{
	for (;;) {
		while (*listed == '_')
			listed++;
		while (*name == '_')
			name++;
		if (!*name)
			return !*listed || strcasecmp(listed, "collector") == 0;
		if (tolower((unsigned char)*listed) != tolower((unsigned char)*name))
			return false;
		listed++;
		name++;
	}
}

bool config_lists_collector(const struct config *c, enum config_key key, const char *collector)
{
	for (char *const *s = config_strings(c, key); s && *s; s++)
		if (same_collector(*s, collector))
			return true;
	return false;
}

/* A string for JSON: bytes of the command line that are no UTF-8 become U+FFFD. */
static json_t *dump_text(const char *s)
{
	_cleanup_strbuf_ struct strbuf b = {0};
	size_t len = strlen(s);

	while (len > 0) {
		size_t n = text_utf8_span(s, len);

		strbuf_add(&b, s, n);
		s += n;
		len -= n;
		if (len > 0) {
			strbuf_str(&b, "\xef\xbf\xbd");
			s++;
			len--;
		}
	}
	return strbuf_error(&b) ? NULL : json_string(strbuf_cstr(&b));
}

/* Whole seconds as a number, the rest as exact text. */
static json_t *dump_duration(uint64_t ns)
{
	_cleanup_strbuf_ struct strbuf b = {0};

	if (ns % NSEC_PER_SEC == 0)
		return json_integer((json_int_t)(ns / NSEC_PER_SEC));
	text_format_duration(&b, ns);
	return json_string(strbuf_cstr(&b));
}

static json_t *dump_strings(char *const *strings)
{
	json_t *list = json_array();

	for (; list && *strings; strings++) {
		if (json_array_append_new(list, dump_text(*strings)) < 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

static json_t *dump_value(const struct config_key_row *row, const struct config_value *v)
{
	if (v->null)
		return json_null();
	switch (row->type) {
	case CONFIG_TYPE_BOOL:
		return json_boolean(v->boolean);
	case CONFIG_TYPE_INT:
		return json_integer(v->integer);
	case CONFIG_TYPE_FLOAT:
		return json_real(v->real);
	case CONFIG_TYPE_STRING:
		return dump_text(v->text);
	case CONFIG_TYPE_DURATION:
		return dump_duration(v->ns);
	case CONFIG_TYPE_ENUM:
		return json_string(row->choices[v->choice]);
	case CONFIG_TYPE_STRINGS:
		return dump_strings(v->strings);
	default:
		return json_incref(v->json);
	}
}

/* Sets root["a"]["b"]["c"] of "a.b.c". Takes value over. */
static int dump_place(json_t *root, const char *name, json_t *value)
{
	const char *dot;
	char part[128];

	for (; (dot = strchr(name, '.')); name = dot + 1) {
		json_t *section;

		assert((size_t)(dot - name) < sizeof(part));
		memcpy(part, name, (size_t)(dot - name));
		part[dot - name] = '\0';
		section = json_object_get(root, part);
		if (!section) {
			section = json_object();
			if (json_object_set_new(root, part, section) < 0) {
				json_decref(value);
				return -ENOMEM;
			}
		}
		root = section;
	}
	return json_object_set_new(root, name, value) < 0 ? -ENOMEM : 0;
}

static int append(const char *data, size_t len, void *b)
{
	strbuf_add(b, data, len);
	return 0;
}

static void json_decref_ptr(json_t **j)
{
	json_decref(*j);
}

int config_dump(const struct config *c, struct strbuf *b)
{
	_cleanup_(json_decref_ptr) json_t *root = json_object();

	for (unsigned int i = 0; i < CONFIG_KEY_COUNT; i++) {
		int r = dump_place(root, config_keys[i].name,
				   dump_value(&config_keys[i], &c->values[i]));

		if (r < 0)
			return r;
	}
	/* 15 digits: a decimal number comes out as it was written, 0.1 and not 0.10000000000000001
	 */
	if (json_dump_callback(root, append, b, JSON_INDENT(2) | JSON_REAL_PRECISION(15)) < 0)
		return -ENOMEM;
	strbuf_char(b, '\n');
	return strbuf_error(b);
}
