/* SPDX-License-Identifier: MIT */
#include "collect/cgroup.h"

#include <string.h>

#include "util/macro.h"

#define ID_LEN 64

const char *const cgroup_runtime_names[CGROUP_RUNTIME_COUNT] = {
	[CGROUP_DOCKER] = "docker", [CGROUP_PODMAN] = "podman", [CGROUP_CONTAINERD] = "containerd",
	[CGROUP_CRIO] = "cri-o",    [CGROUP_K8S] = "k8s",	[CGROUP_LXC] = "lxc",
	[CGROUP_NSPAWN] = "nspawn",
};

const char *const cgroup_runtime_types[CGROUP_RUNTIME_COUNT] = {
	[CGROUP_DOCKER] = "docker",	    [CGROUP_PODMAN] = "unknown", [CGROUP_CRIO] = "crio",
	[CGROUP_CONTAINERD] = "containerd", [CGROUP_K8S] = "unknown",	 [CGROUP_LXC] = "unknown",
	[CGROUP_NSPAWN] = "unknown",
};

const char *const cgroup_qos_names[CGROUP_QOS_COUNT] = {
	[CGROUP_QOS_NONE] = "",
	[CGROUP_QOS_GUARANTEED] = "guaranteed",
	[CGROUP_QOS_BURSTABLE] = "burstable",
	[CGROUP_QOS_BESTEFFORT] = "besteffort",
};

/* A piece of a path. */
struct span {
	const char *s;
	size_t len;
};

static bool span_is(struct span a, const char *text)
{
	return a.len == strlen(text) && memcmp(a.s, text, a.len) == 0;
}

static bool span_cut_prefix(struct span *a, const char *prefix)
{
	size_t n = strlen(prefix);

	if (a->len < n || memcmp(a->s, prefix, n) != 0)
		return false;
	a->s += n;
	a->len -= n;
	return true;
}

static bool span_cut_suffix(struct span *a, const char *suffix)
{
	size_t n = strlen(suffix);

	if (a->len < n || memcmp(a->s + a->len - n, suffix, n) != 0)
		return false;
	a->len -= n;
	return true;
}

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

static bool span_is_hex(struct span a, size_t len)
{
	if (a.len != len)
		return false;
	for (size_t i = 0; i < len; i++)
		if (!is_hex(a.s[i]))
			return false;
	return true;
}

/* --- one path, component by component --------------------------------------------------------- */
struct walk {
	struct span before, parent, component, next; /* next: empty at the end */
	const char *path;
	bool kubepods;
	struct cgroup_container pod;   /* pod_uid and qos so far */
	struct cgroup_container found; /* id_len 0: none yet */
};

static void found_here(struct walk *w, enum cgroup_runtime runtime)
{
	w->found.runtime = runtime;
	w->found.path = w->path;
	w->found.path_len = (size_t)(w->component.s + w->component.len - w->path);
	w->found.qos = w->pod.qos;
	memcpy(w->found.pod_uid, w->pod.pod_uid, sizeof(w->found.pod_uid));
}

static bool found_id(struct walk *w, enum cgroup_runtime runtime, struct span id)
{
	if (!span_is_hex(id, ID_LEN))
		return false;
	memcpy(w->found.id, id.s, id.len);
	w->found.id_len = id.len;
	found_here(w, runtime);
	return true;
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Undoes the \xNN of systemd's unit names. */
static bool found_name(struct walk *w, enum cgroup_runtime runtime, struct span name)
{
	size_t n = 0;

	if (!name.len)
		return false;
	for (size_t i = 0; i < name.len && n < sizeof(w->found.id); i++) {
		char c = name.s[i];

		if (c == '\\' && i + 3 < name.len && name.s[i + 1] == 'x' &&
		    hex_value(name.s[i + 2]) >= 0 && hex_value(name.s[i + 3]) >= 0) {
			c = (char)(hex_value(name.s[i + 2]) * 16 + hex_value(name.s[i + 3]));
			i += 3;
		}
		w->found.id[n++] = c;
	}
	w->found.id_len = n;
	found_here(w, runtime);
	return true;
}

/* docker-ID.scope and the like; the prefix is also the middle of the colon form. */
static const struct {
	const char *prefix;
	enum cgroup_runtime runtime;
} prefixes[] = {
	{"docker", CGROUP_DOCKER},
	{"libpod", CGROUP_PODMAN},
	{"libpod-payload", CGROUP_PODMAN},
	{"cri-containerd", CGROUP_CONTAINERD},
	{"nerdctl", CGROUP_CONTAINERD},
	{"containerd", CGROUP_CONTAINERD},
	{"crio", CGROUP_CRIO},
};

static bool match_prefix(struct walk *w)
{
	struct span c = w->component;

	span_cut_suffix(&c, ".scope");
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		struct span id = c;

		if (span_cut_prefix(&id, prefixes[i].prefix) && span_cut_prefix(&id, "-") &&
		    found_id(w, prefixes[i].runtime, id))
			return true;
	}
	return false;
}

/* kubepods-burstable-podUID.slice:cri-containerd:ID */
static bool match_colons(struct walk *w)
{
	struct span id = w->component, middle;
	const char *second = memrchr(id.s, ':', id.len), *first;

	if (!second)
		return false;
	first = memrchr(id.s, ':', (size_t)(second - id.s));
	if (!first)
		return false;
	middle = (struct span){first + 1, (size_t)(second - first - 1)};
	id = (struct span){second + 1, (size_t)(id.s + id.len - second - 1)};
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (span_is(middle, prefixes[i].prefix))
			return found_id(w, prefixes[i].runtime, id);
	return false;
}

/* PARENT/ID */
static const struct {
	const char *parent;
	enum cgroup_runtime runtime;
} parents[] = {
	{"docker", CGROUP_DOCKER},
	{"default", CGROUP_CONTAINERD},
	{"moby", CGROUP_CONTAINERD},
	{"k8s.io", CGROUP_CONTAINERD},
};

static bool match_bare(struct walk *w)
{
	for (size_t i = 0; i < ARRAY_SIZE(parents); i++)
		if (span_is(w->parent, parents[i].parent))
			return found_id(w, parents[i].runtime, w->component);
	if (span_is(w->before, "ecs"))
		return found_id(w, CGROUP_DOCKER, w->component);
	return w->kubepods && found_id(w, CGROUP_K8S, w->component);
}

static bool match_lxc(struct walk *w)
{
	struct span name = w->component;

	if (span_is(w->parent, "lxc") || span_is(w->parent, "lxc.payload"))
		return found_name(w, CGROUP_LXC, name);
	return span_cut_prefix(&name, "lxc.payload.") && found_name(w, CGROUP_LXC, name);
}

/* libvirt's NAME in lxc\x2dN\x2dNAME. */
static bool cut_libvirt(struct span *name, const char *driver)
{
	struct span n = *name;

	if (!span_cut_prefix(&n, driver) || !span_cut_prefix(&n, "\\x2d"))
		return false;
	while (n.len && *n.s >= '0' && *n.s <= '9') {
		n.s++;
		n.len--;
	}
	if (!span_cut_prefix(&n, "\\x2d"))
		return false;
	*name = n;
	return true;
}

static bool match_machine(struct walk *w)
{
	struct span name = w->component;

	if (span_is(w->next, "supervisor"))
		return false;
	if (span_cut_prefix(&name, "systemd-nspawn@") && span_cut_suffix(&name, ".service"))
		return found_name(w, CGROUP_NSPAWN, name);
	name = w->component;
	if (!span_is(w->parent, "machine.slice") || !span_cut_prefix(&name, "machine-") ||
	    !span_cut_suffix(&name, ".scope"))
		return false;
	if (cut_libvirt(&name, "qemu"))
		return false;
	return found_name(w, cut_libvirt(&name, "lxc") ? CGROUP_LXC : CGROUP_NSPAWN, name);
}

/* --- Kubernetes ------------------------------------------------------------------------------- */
/* Writes a uid in its canonical form; systemd's slices have '_' for '-'. */
static bool take_uid(struct span s, char out[40])
{
	static const uint8_t dashes[] = {8, 13, 18, 23};

	if (span_is_hex(s, 32)) { /* a static pod: the hash of its file */
		memcpy(out, s.s, 32);
		out[32] = '\0';
		return true;
	}
	if (s.len != 36)
		return false;
	for (size_t i = 0; i < s.len; i++) {
		bool dash = memchr(dashes, (int)i, sizeof(dashes)) != NULL;

		if (dash ? s.s[i] != '-' && s.s[i] != '_' : !is_hex(s.s[i]))
			return false;
		out[i] = dash ? '-' : s.s[i];
	}
	out[36] = '\0';
	return true;
}

/* kubepods, kubepods.slice, kubepods-burstable.slice, kubepods-burstable-podUID.slice */
static void note_kubepods(struct walk *w)
{
	struct span c = w->component;
	const char *at = memmem(c.s, c.len, "kubepods", 8), *colon;
	struct span rest;

	if (!at)
		return;
	w->kubepods = true;
	w->pod.qos = CGROUP_QOS_GUARANTEED;
	w->pod.pod_uid[0] = '\0';
	rest = (struct span){at + 8, (size_t)(c.s + c.len - at - 8)};
	colon = memchr(rest.s, ':', rest.len);
	if (colon)
		rest.len = (size_t)(colon - rest.s);
	span_cut_suffix(&rest, ".slice");
	if (span_cut_prefix(&rest, "-besteffort"))
		w->pod.qos = CGROUP_QOS_BESTEFFORT;
	else if (span_cut_prefix(&rest, "-burstable"))
		w->pod.qos = CGROUP_QOS_BURSTABLE;
	if (span_cut_prefix(&rest, "-pod"))
		take_uid(rest, w->pod.pod_uid);
}

static void note_pod(struct walk *w)
{
	struct span c = w->component;

	note_kubepods(w);
	if (!w->kubepods)
		return;
	if (span_is(c, "besteffort"))
		w->pod.qos = CGROUP_QOS_BESTEFFORT;
	else if (span_is(c, "burstable"))
		w->pod.qos = CGROUP_QOS_BURSTABLE;
	else if (span_cut_prefix(&c, "pod"))
		take_uid(c, w->pod.pod_uid);
}

/* --- paths and lines -------------------------------------------------------------------------- */
static struct span next_component(const char **p, const char *end)
{
	const char *slash, *start;

	while (*p < end && **p == '/')
		(*p)++;
	start = *p;
	slash = memchr(start, '/', (size_t)(end - start));
	*p = slash ? slash : end;
	return (struct span){start, (size_t)(*p - start)};
}

bool cgroup_find_path(const char *path, size_t len, struct cgroup_container *ret)
{
	static bool (*const matchers[])(struct walk *) = {match_prefix, match_colons, match_bare,
							  match_lxc, match_machine};
	struct span whole = {path, len};
	struct walk w = {.path = path, .found.id_len = 0};
	const char *p = path;

	if (len < 2)
		return false;
	span_cut_suffix(&whole, " (deleted)"); /* of a process whose cgroup was removed */
	w.component = next_component(&p, path + whole.len);
	while (w.component.len) {
		w.next = next_component(&p, path + whole.len);
		note_pod(&w);
		for (size_t i = 0; i < ARRAY_SIZE(matchers); i++)
			if (matchers[i](&w))
				break;
		w.before = w.parent;
		w.parent = w.component;
		w.component = w.next;
	}
	if (!w.found.id_len)
		return false;
	*ret = w.found;
	return true;
}

/* A line is "ID:CONTROLLERS:PATH"; a path may hold colons. */
struct cgroup_line {
	struct span controllers, path;
	bool v2;
};

static bool next_line(const char **p, const char *end, struct cgroup_line *ret)
{
	while (*p < end) {
		const char *s = *p, *eol = memchr(s, '\n', (size_t)(end - s)), *c1, *c2;

		if (!eol)
			eol = end;
		*p = eol + 1;
		c1 = memchr(s, ':', (size_t)(eol - s));
		c2 = c1 ? memchr(c1 + 1, ':', (size_t)(eol - c1 - 1)) : NULL;
		if (!c2)
			continue;
		ret->controllers = (struct span){c1 + 1, (size_t)(c2 - c1 - 1)};
		ret->path = (struct span){c2 + 1, (size_t)(eol - c2 - 1)};
		ret->v2 = c1 == s + 1 && *s == '0' && ret->controllers.len == 0;
		return true;
	}
	return false;
}

/* The rank in which lines are asked: 0 first. */
static unsigned int line_rank(const struct cgroup_line *l)
{
	if (l->v2)
		return 0;
	return span_is(l->controllers, "name=systemd") ? 1 : 2;
}

bool cgroup_find(const char *text, size_t len, struct cgroup_container *ret)
{
	struct cgroup_container c;
	unsigned int best = 3;

	for (const char *p = text; p < text + len && best > 0;) {
		struct cgroup_line l;

		if (!next_line(&p, text + len, &l))
			break;
		if (line_rank(&l) < best && cgroup_find_path(l.path.s, l.path.len, &c)) {
			*ret = c;
			best = line_rank(&l);
		}
	}
	return best < 3;
}

const char *cgroup_path(const char *text, size_t len, size_t *ret_len)
{
	struct cgroup_container container;
	struct span path = {NULL, 0};
	unsigned int best = 3;

	for (const char *p = text; p < text + len;) {
		struct cgroup_line l;

		if (!next_line(&p, text + len, &l))
			break;
		if (line_rank(&l) < best) {
			path = l.path;
			best = line_rank(&l);
		}
	}
	if (cgroup_find(text, len, &container)) {
		const char *eol =
			memchr(container.path, '\n', (size_t)(text + len - container.path));

		path.s = container.path;
		path.len = (size_t)((eol ? eol : text + len) - path.s);
	}
	if (path.s)
		*ret_len = path.len;
	return path.s;
}
