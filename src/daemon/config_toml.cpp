/* SPDX-License-Identifier: MIT */
#include <toml++/toml.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <string>
#include <string_view>

extern "C" {
#include "daemon/config_toml.h"
}

namespace
{

struct place {
	config_tree *tree;
	config_node *parent;
	const char *key;
	size_t key_len;
	unsigned int line;
};

int add(const place &p, config_node_kind kind, config_node **ret)
{
	return config_tree_add(p.tree, p.parent, p.key, p.key_len, kind, p.line, ret);
}

int add_text(const place &p, config_node_kind kind, std::string_view text)
{
	config_node *n;
	int r = add(p, kind, &n);

	return r < 0 ? r : config_tree_text(p.tree, n, text.data(), text.size());
}

int add_value(const place &p, const toml::node &value);

int add_table(const place &p, const toml::table &table)
{
	config_node *n;
	int r = add(p, CONFIG_NODE_MAP, &n);

	for (auto &&[key, value] : table) {
		std::string_view name = key.str();

		if (r < 0)
			return r;
		r = add_value({p.tree, n, name.data(), name.size(), key.source().begin.line},
			      value);
	}
	return r;
}

int add_array(const place &p, const toml::array &array)
{
	config_node *n;
	int r = add(p, CONFIG_NODE_LIST, &n);

	for (auto &&value : array) {
		if (r < 0)
			return r;
		r = add_value({p.tree, n, nullptr, 0, value.source().begin.line}, value);
	}
	return r;
}

int add_value(const place &p, const toml::node &value)
{
	config_node *n;
	int r = 0;

	if (auto *table = value.as_table())
		return add_table(p, *table);
	if (auto *array = value.as_array())
		return add_array(p, *array);
	if (auto *s = value.as_string())
		return add_text(p, CONFIG_NODE_STRING, s->get());
	if (auto *i = value.as_integer()) {
		r = add(p, CONFIG_NODE_INT, &n);
		if (r == 0)
			n->integer = i->get();
		return r;
	}
	if (auto *f = value.as_floating_point()) {
		r = add(p, CONFIG_NODE_FLOAT, &n);
		if (r == 0)
			n->real = f->get();
		return r;
	}
	if (auto *b = value.as_boolean()) {
		r = add(p, CONFIG_NODE_BOOL, &n);
		if (r == 0)
			n->boolean = b->get();
		return r;
	}
	return add_text(p, CONFIG_NODE_OTHER, "a date or time");
}

} // namespace

/*
 * The library bounds the depth of brackets (256) but not of dotted keys, and it takes a stack frame
 * per level: a key of 50,000 parts ends in a stack overflow (seen with toml++ 3.3.0). Every level
 * by dots needs a dot, so their number bounds the depth.
 */
#define MAX_DOTS CONFIG_TREE_MAX_NODES

extern "C" int config_parse_toml(struct config_tree *t, const char *text, size_t len)
{
	if (std::count(text, text + len, '.') > MAX_DOTS)
		return config_tree_fail(t, 0, 0, "more than %d dots", MAX_DOTS);
	try {
		toml::table table = toml::parse(std::string_view(text, len));

		return add_table({t, nullptr, nullptr, 0, 1}, table);
	} catch (const toml::parse_error &e) {
		return config_tree_fail(t, e.source().begin.line, e.source().begin.column, "%.*s",
					(int)e.description().size(), e.description().data());
	} catch (const std::exception &e) {
		return config_tree_fail(t, 0, 0, "%s", e.what());
	} catch (...) {
		return config_tree_fail(t, 0, 0, "the TOML library failed");
	}
}
