/* SPDX-License-Identifier: MIT */
/* The configuration in its three formats: what loads, what is refused and in which words. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "daemon/config.h"
#include "daemon/suggest.h"
#include "util/fdio.h"
#include "util/log.h"

static const char *data_path(char *buf, size_t size, const char *name)
{
	const char *source = getenv("WITTYFS_SOURCE");

	snprintf(buf, size, "%s/tests/unit/data/config/%s", source ? source : ".", name);
	return buf;
}

static char *dump(const struct config *c)
{
	struct strbuf b = {0};
	char *text;

	assert_int_equal(config_dump(c, &b), 0);
	assert_int_equal(strbuf_steal(&b, &text, NULL), 0);
	return text;
}

static void load_good(struct config *c, const char *name)
{
	char path[4096], error[CONFIG_ERROR_MAX] = "";

	assert_int_equal(config_init(c), 0);
	if (config_load_file(c, data_path(path, sizeof(path), name), error, sizeof(error)) != 0)
		fail_msg("%s", error);
}

static void test_defaults(void **state)
{
	_cleanup_config_ struct config c = {0};

	assert_int_equal(config_init(&c), 0);
	assert_string_equal(config_string(&c, CONFIG_TMP_DIR), "local/witty_profiler/run/");
	assert_string_equal(config_string(&c, CONFIG_MOUNT_MOUNTPOINT), "/run/wittyfs");
	assert_string_equal(config_string(&c, CONFIG_SERVER_SERVER_ADDR_HOST), "127.0.0.1");
	assert_int_equal(config_int(&c, CONFIG_SERVER_SERVER_ADDR_PORT), 18090);
	assert_int_equal(config_choice(&c, CONFIG_SERVER_PREFERRED_BACKEND), -1);
	assert_int_equal(config_choice(&c, CONFIG_LOG_LEVEL), LOG_REPORT);
	assert_int_equal(config_duration_ns(&c, CONFIG_COLLECTOR_INTERVAL), 5 * NSEC_PER_SEC);
	assert_false(config_bool(&c, CONFIG_COLLECTOR_SOCKET_COLLECTOR_ENABLE_FILTER));
	assert_int_equal(json_array_size(config_json(&c, CONFIG_COLLECTOR_REMOTE_SLAVES)), 1);
	assert_null(config_strings(&c, CONFIG_COLLECTOR_DISABLED_COLLECTORS)[0]);
	assert_false(config_given(&c, CONFIG_TMP_DIR));
}

/* enum log_level is the index of the choices. */
static void test_levels(void **state)
{
	assert_int_equal(config_keys[CONFIG_LOG_LEVEL].n_choices, LOG_LEVEL_COUNT);
	for (int i = 0; i < LOG_LEVEL_COUNT; i++)
		assert_string_equal(config_keys[CONFIG_LOG_LEVEL].choices[i], log_level_names[i]);
}

static void check_good(const struct config *c, bool has_null)
{
	const json_t *slaves = config_json(c, CONFIG_COLLECTOR_REMOTE_SLAVES);
	char *const *off = config_strings(c, CONFIG_COLLECTOR_DISABLED_COLLECTORS);

	assert_string_equal(config_string(c, CONFIG_TMP_DIR), "/var/tmp/topology \"quoted\" ä\\");
	assert_int_equal(config_choice(c, CONFIG_LOG_LEVEL), LOG_DEBUG);
	assert_string_equal(config_string(c, CONFIG_SERVER_SERVER_ADDR_HOST), "0.0.0.0");
	assert_int_equal(config_int(c, CONFIG_SERVER_SERVER_ADDR_PORT), 8080);
	assert_int_equal(config_given(c, CONFIG_SERVER_PREFERRED_BACKEND), has_null);
	assert_int_equal(config_choice(c, CONFIG_MOUNT_MODE), 1);
	assert_string_equal(config_string(c, CONFIG_MOUNT_GROUP), "adm");
	assert_int_equal(config_duration_ns(c, CONFIG_COLLECTOR_INTERVAL), 500 * NSEC_PER_MSEC);
	assert_string_equal(off[0], "SocketCollector");
	assert_string_equal(off[1], "numa");
	assert_null(off[2]);
	assert_int_equal(json_array_size(slaves), 2);
	assert_int_equal(json_array_size(config_json(c, CONFIG_COLLECTOR_START_NODES)),
			 has_null ? 5 : 4);
	assert_true(config_bool(c, CONFIG_COLLECTOR_SOCKET_COLLECTOR_ENABLE_FILTER));
	assert_int_equal(config_int(c, CONFIG_COLLECTOR_SOCKET_COLLECTOR_FILTER_CONN_PACKET_CNT),
			 7);
	assert_true(config_float(c, CONFIG_COLLECTOR_NUMA_COLLECTOR_MIN_THREAD_CPU_PCT_THRESH) ==
		    0.25);
	assert_true(config_float(c, CONFIG_SNIFFER_RDMA_SNIFFER_UPDATE_INTERVAL_BY_SECOND) == 3);
	assert_false(config_bool(c, CONFIG_SNIFFER_IPC_SNIFFER_ENABLE_UDS_ENABLE));
	assert_true(config_bool(c, CONFIG_SNIFFER_IPC_SNIFFER_ENABLE_PIPE_ENABLE));
}

static void test_good_files(void **state)
{
	static const char *const names[] = {"good.json", "good.yaml", "good.toml"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_config_ struct config c = {0};

		print_message("%s\n", names[i]);
		load_good(&c, names[i]);
		check_good(&c, !strstr(names[i], "toml"));
	}
}

static void test_same_in_all_formats(void **state)
{
	_cleanup_config_ struct config json = {0}, yaml = {0};
	_cleanup_free_ char *a = NULL, *b = NULL;

	load_good(&json, "good.json");
	load_good(&yaml, "good.yaml");
	a = dump(&json);
	b = dump(&yaml);
	assert_string_equal(a, b);
}

static void test_reference_file(void **state)
{
	_cleanup_config_ struct config c = {0};

	load_good(&c, "reference.json");
	assert_string_equal(config_string(&c, CONFIG_SERVER_SERVER_ADDR_HOST), "0.0.0.0");
	assert_false(config_keys[CONFIG_SNIFFER_CPU_SNIFFER_CPU_SCHED_MONITOR_BINARY_PATH].effect);
}

static void test_dump_round_trip(void **state)
{
	static const char *const names[] = {NULL, "good.json", "good.toml"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_config_ struct config c = {0}, again = {0};
		_cleanup_free_ char *a = NULL, *b = NULL;
		char error[CONFIG_ERROR_MAX] = "";

		if (names[i])
			load_good(&c, names[i]);
		else
			assert_int_equal(config_init(&c), 0);
		a = dump(&c);
		assert_int_equal(config_init(&again), 0);
		if (config_load_text(&again, "dump", a, strlen(a), CONFIG_FORMAT_JSON, error,
				     sizeof(error)) != 0)
			fail_msg("%s", error);
		b = dump(&again);
		assert_string_equal(a, b);
		for (unsigned int k = 0; k < CONFIG_KEY_COUNT; k++)
			assert_true(config_given(&again, k));
	}
}

/* The sample is made by the build; a test run by hand may be without it. */
static void test_sample(void **state)
{
	const char *build = getenv("WITTYFS_BUILD");
	_cleanup_config_ struct config c = {0}, defaults = {0};
	_cleanup_free_ char *a = NULL, *b = NULL;
	char path[4096], error[CONFIG_ERROR_MAX] = "";

	snprintf(path, sizeof(path), "%s/src/daemon/config.sample.json", build ? build : "");
	if (!build || access(path, R_OK) < 0) {
		print_message("skipped: no %s\n", path);
		skip();
	}
	assert_int_equal(config_init(&defaults), 0);
	assert_int_equal(config_init(&c), 0);
	if (config_load_file(&c, path, error, sizeof(error)) != 0)
		fail_msg("%s", error);
	a = dump(&c);
	b = dump(&defaults);
	assert_string_equal(a, b);
}

static const struct refused {
	enum config_format format;
	const char *text, *error;
} refused[] = {
	/* unknown keys name the nearest, and their own line */
	{CONFIG_FORMAT_YAML, "server_config:\n  server_addr:\n    prot: 5\n",
	 "f:3: unknown key 'server_config.server_addr.prot': did you mean "
	 "'server_config.server_addr.port'?"},
	{CONFIG_FORMAT_JSON,
	 "{\"server_config\":\n\n {\"server_addr\": {\"host\": \"a\\\"},{\",\n\"prot\": 5}}}",
	 "f:4: unknown key 'server_config.server_addr.prot': did you mean "
	 "'server_config.server_addr.port'?"},
	{CONFIG_FORMAT_TOML, "\n[server_config.server_addr]\nhost='a'\nprot = 5\n",
	 "f:4: unknown key 'server_config.server_addr.prot': did you mean "
	 "'server_config.server_addr.port'?"},
	{CONFIG_FORMAT_JSON, "{\n\"port\": 5}",
	 "f:2: unknown key 'port': did you mean 'server_config.server_addr.port'?"},
	{CONFIG_FORMAT_TOML, "[colector_config]\ninterval=1",
	 "f:1: unknown key 'colector_config': did you mean 'collector_config'?"},
	{CONFIG_FORMAT_JSON,
	 "{\"sniffer_config\": {\"socket_sniffer\": {\"report_maximum_interval_by_second\": 2}}}",
	 "f:1: unknown key 'sniffer_config.socket_sniffer.report_maximum_interval_by_second': did "
	 "you mean 'sniffer_config.socket_sniffer.monitor_report_maximum_interval_by_second'?"},
	{CONFIG_FORMAT_JSON, "{\"a\\nb\": 1}",
	 "f:1: unknown key 'a\\x0ab': did you mean 'tmp_dir'?"},
	/* wrong types and ranges */
	{CONFIG_FORMAT_JSON, "{\"server_config\": {\"server_addr\": {\n\"port\": \"x\"}}}",
	 "f:2: 'server_config.server_addr.port' must be a whole number from 0 to 65535, not 'x'"},
	{CONFIG_FORMAT_YAML, "server_config: {server_addr: {port: 70000}}",
	 "f:1: 'server_config.server_addr.port' must be a whole number from 0 to 65535, not 70000"},
	{CONFIG_FORMAT_TOML, "server_config.server_addr.port = 80.5",
	 "f:1: 'server_config.server_addr.port' must be a whole number from 0 to 65535, not 80.5"},
	{CONFIG_FORMAT_YAML, "tmp_dir: 5",
	 "f:1: 'tmp_dir' must be a string of 1 to 4000 bytes, not 5"},
	{CONFIG_FORMAT_YAML, "tmp_dir: ''",
	 "f:1: 'tmp_dir' must be a string of 1 to 4000 bytes, not ''"},
	{CONFIG_FORMAT_YAML,
	 "tmp_dir:", "f:1: 'tmp_dir' must be a string of 1 to 4000 bytes, not null"},
	{CONFIG_FORMAT_YAML, "log_level: FOO",
	 "f:1: 'log_level' must be VERBOSE, DEBUG, INFO, REPORT, WARNING, ERROR or CRITICAL, not "
	 "'FOO'"},
	{CONFIG_FORMAT_YAML, "mount_config:\n  mode: 0755",
	 "f:2: 'mount_config.mode' must be group or world, not 755"},
	{CONFIG_FORMAT_JSON, "{\"collector_config\": {\"interval\": 0.01}}",
	 "f:1: 'collector_config.interval' must be a time such as 5, 0.5 (seconds), 500ms or 2m, "
	 "from 50ms to 86400, not 0.01"},
	{CONFIG_FORMAT_JSON, "{\"collector_config\": {\"interval\": \"soon\"}}",
	 "f:1: 'collector_config.interval' must be a time such as 5, 0.5 (seconds), 500ms or 2m, "
	 "from 50ms to 86400, not 'soon'"},
	{CONFIG_FORMAT_TOML, "collector_config.interval = inf",
	 "f:1: 'collector_config.interval' must be a time such as 5, 0.5 (seconds), 500ms or 2m, "
	 "from 50ms to 86400, not inf"},
	{CONFIG_FORMAT_YAML, "collector_config: {interval: -1}",
	 "f:1: 'collector_config.interval' must be a time such as 5, 0.5 (seconds), 500ms or 2m, "
	 "from 50ms to 86400, not -1"},
	{CONFIG_FORMAT_TOML, "tmp_dir = 2024-01-01",
	 "f:1: 'tmp_dir' must be a string of 1 to 4000 bytes, not a date or time"},
	{CONFIG_FORMAT_JSON, "{\"collector_config\": {\"disabled_collectors\": [1]}}",
	 "f:1: 'collector_config.disabled_collectors' must be a list of strings, not this list"},
	{CONFIG_FORMAT_JSON, "{\"collector_config\": {\"remote_slaves\": [\"h\"]}}",
	 "f:1: 'collector_config.remote_slaves' must be a list of objects, not this list"},
	{CONFIG_FORMAT_YAML,
	 "collector_config:\n  numa_collector_config:\n    min_thread_cpu_pct_thresh: .nan",
	 "f:3: 'collector_config.numa_collector_config.min_thread_cpu_pct_thresh' must be a number "
	 "from 0 to 1, not nan"},
	{CONFIG_FORMAT_YAML,
	 "collector_config:\n  socket_collector_config:\n    enable_filter: yes please",
	 "f:3: 'collector_config.socket_collector_config.enable_filter' must be true or false, not "
	 "'yes please'"},
	{CONFIG_FORMAT_JSON, "{\"server_config\": {\"preferred_backend\": \"x\"}}",
	 "f:1: 'server_config.preferred_backend' must be FastAPIServer or OnlineDisabledServer, or "
	 "null, not 'x'"},
	{CONFIG_FORMAT_JSON, "{\"server_config\": 5}",
	 "f:1: 'server_config' is a section of keys, it has no value itself"},
	{CONFIG_FORMAT_JSON, "{\"tmp_dir\": {\"a\": 1}}",
	 "f:1: 'tmp_dir' must be a string of 1 to 4000 bytes, not a section of keys"},
	/* twice */
	{CONFIG_FORMAT_JSON, "{\"tmp_dir\": \"a\",\n\"tmp_dir\": \"b\"}",
	 "f:2:9: duplicate object key near '\"tmp_dir\"' (read as JSON)"},
	{CONFIG_FORMAT_YAML, "tmp_dir: a\nlog_level: INFO\ntmp_dir: b",
	 "f:3: key 'tmp_dir' is there twice, first on line 1: remove one (read as YAML)"},
	{CONFIG_FORMAT_JSON,
	 "{\"mount_config\": {\"group\": \"a\"},\n\"mount_config.group\": \"b\"}",
	 "f:2: 'mount_config.group' is there twice, first on line 1: remove one"},
	/* syntax */
	{CONFIG_FORMAT_JSON, "{\n\"tmp_dir\": }",
	 "f:2:12: unexpected token near '}' (read as JSON)"},
	{CONFIG_FORMAT_JSON, "", "f:1: '[' or '{' expected near end of file (read as JSON)"},
	{CONFIG_FORMAT_JSON, "[]", "f: must hold keys and values at its top (read as JSON)"},
	{CONFIG_FORMAT_YAML, "- a", "f: must hold keys and values at its top (read as YAML)"},
	{CONFIG_FORMAT_YAML, "a: [1", NULL},
	{CONFIG_FORMAT_YAML, "tmp_dir: a\n---\ntmp_dir: b\n",
	 "f:3:1: a second document: one is enough (read as YAML)"},
	{CONFIG_FORMAT_YAML, "tmp_dir: &x a\nlog_level: *x\n",
	 "f:2:12: aliases (*) are not supported: write the value again (read as YAML)"},
	{CONFIG_FORMAT_YAML, "tmp_dir: !!str 5\n",
	 "f:1:10: tags (!) are not supported: leave it out (read as YAML)"},
	{CONFIG_FORMAT_YAML, "? [a]\n: b\n", "f:1:3: a key has to be a plain word (read as YAML)"},
	{CONFIG_FORMAT_YAML, "tmp_dir: \"a\\0b\"\n",
	 "f:1: a string has a NUL byte in it (read as YAML)"},
	{CONFIG_FORMAT_YAML, "tmp_dir: \xff\n", NULL},
	{CONFIG_FORMAT_TOML, "tmp_dir = \"a\\u0000b\"\n",
	 "f:1: a string has a NUL byte in it (read as TOML)"},
	{CONFIG_FORMAT_TOML, "a = \n", NULL},
	{CONFIG_FORMAT_TOML, "tmp_dir = 'a'\ntmp_dir = 'b'\n", NULL},
	/* no suffix */
	{CONFIG_FORMAT_GUESS, "{\"tmp_dir\": 5}",
	 "f:1: 'tmp_dir' must be a string of 1 to 4000 bytes, not 5"},
	{CONFIG_FORMAT_GUESS, "tmp_dir: 5",
	 "f:1: 'tmp_dir' must be a string of 1 to 4000 bytes, not 5"},
	{CONFIG_FORMAT_GUESS, "\ntmp_dir = 5",
	 "f:2: 'tmp_dir' must be a string of 1 to 4000 bytes, not 5"},
	{CONFIG_FORMAT_GUESS, "{\"tmp_dir\": }",
	 "f:1:13: unexpected token near '}' (read as JSON)"},
	{CONFIG_FORMAT_GUESS, "what is this",
	 "f: neither JSON nor TOML nor YAML: name it .json, .toml or .yaml to see why"},
};

static void test_refused(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		const struct refused *f = &refused[i];
		_cleanup_config_ struct config c = {0};
		char error[CONFIG_ERROR_MAX] = "";

		assert_int_equal(config_init(&c), 0);
		if (config_load_text(&c, "f", f->text, strlen(f->text), f->format, error,
				     sizeof(error)) == 0)
			fail_msg("was accepted: %s", f->text);
		if (!f->error)
			print_message("%s\n", error);
		else
			assert_string_equal(error, f->error);
		assert_null(strchr(error, '\n'));
		assert_ptr_equal(strstr(error, "f:"), error);
	}
}

static void test_accepted(void **state)
{
	static const struct {
		enum config_format format;
		const char *text;
	} texts[] = {
		{CONFIG_FORMAT_YAML, ""},
		{CONFIG_FORMAT_YAML, "# nothing\n"},
		{CONFIG_FORMAT_YAML, "---\n"},
		{CONFIG_FORMAT_YAML, "server_config:\n"},
		{CONFIG_FORMAT_TOML, ""},
		{CONFIG_FORMAT_TOML, "# nothing"},
		{CONFIG_FORMAT_JSON, "{}"},
		{CONFIG_FORMAT_JSON, "\xef\xbb\xbf{}"},
		{CONFIG_FORMAT_JSON, "{\"mount_config.group\": \"\"}"},
		{CONFIG_FORMAT_JSON, "{\"sniffer_config\": {\"gpu_sniffer\": "
				     "{\"refresh_interval_by_second\": 1}}}"},
		{CONFIG_FORMAT_GUESS, ""},
		{CONFIG_FORMAT_GUESS, "log_level: info"},
		{CONFIG_FORMAT_GUESS, "log_level = 'info'"},
		{CONFIG_FORMAT_GUESS, " \n{\"log_level\": \"info\"}"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		_cleanup_config_ struct config c = {0};
		char error[CONFIG_ERROR_MAX] = "";

		assert_int_equal(config_init(&c), 0);
		if (config_load_text(&c, "f", texts[i].text, strlen(texts[i].text), texts[i].format,
				     error, sizeof(error)) != 0)
			fail_msg("%s", error);
	}
}

/* A megabyte of brackets, of keys or of list elements ends in an error and not in the stack or an
 * hour. */
static void test_bounds(void **state)
{
	static const struct {
		enum config_format format;
		const char *head, *unit;
	} floods[] = {
		{CONFIG_FORMAT_JSON, "{\"a\": ", "["}, {CONFIG_FORMAT_JSON, "", "{\"a\":"},
		{CONFIG_FORMAT_YAML, "a: ", "["},      {CONFIG_FORMAT_YAML, "a: ", "- "},
		{CONFIG_FORMAT_YAML, "", "{a: "},      {CONFIG_FORMAT_YAML, "", "- a\n"},
		{CONFIG_FORMAT_TOML, "a = ", "["},     {CONFIG_FORMAT_TOML, "a = ", "{a="},
		{CONFIG_FORMAT_TOML, "", "a."},	       {CONFIG_FORMAT_TOML, "a = [", "1,"},
		{CONFIG_FORMAT_GUESS, "", "["},
	};
	_cleanup_free_ char *text = malloc(CONFIG_MAX_FILE + 64);

	assert_non_null(text);
	for (size_t i = 0; i < ARRAY_SIZE(floods); i++) {
		_cleanup_config_ struct config c = {0};
		char error[CONFIG_ERROR_MAX] = "";
		size_t len = (size_t)sprintf(text, "%s", floods[i].head);

		while (len < CONFIG_MAX_FILE / 8)
			len += (size_t)sprintf(text + len, "%s", floods[i].unit);
		assert_int_equal(config_init(&c), 0);
		assert_true(config_load_text(&c, "f", text, len, floods[i].format, error,
					     sizeof(error)) < 0);
		print_message("%.70s\n", error);
	}
}

/* The deepest TOML that the bound on dots lets through, and one more. */
static void test_deep_toml(void **state)
{
	for (int over = 0; over < 2; over++) {
		_cleanup_config_ struct config c = {0};
		_cleanup_strbuf_ struct strbuf b = {0};
		char error[CONFIG_ERROR_MAX] = "";

		for (int i = 0; i < 10000 + over; i++)
			strbuf_str(&b, "a.");
		strbuf_str(&b, "a=");
		for (int i = 0; i < 200; i++)
			strbuf_str(&b, "[");
		for (int i = 0; i < 200; i++)
			strbuf_str(&b, "]");
		assert_int_equal(config_init(&c), 0);
		assert_true(config_load_text(&c, "f", strbuf_cstr(&b), b.len, CONFIG_FORMAT_TOML,
					     error, sizeof(error)) < 0);
		assert_string_equal(error, over ? "f: more than 10000 dots (read as TOML)"
						: "f:1: nested deeper than 32 (read as TOML)");
	}
}

static void test_files(void **state)
{
	char dir[] = "/tmp/wittyfs-config-XXXXXX", path[128], error[CONFIG_ERROR_MAX];
	_cleanup_config_ struct config c = {0};
	char expected[256];
	int fd;

	assert_non_null(mkdtemp(dir));
	assert_int_equal(config_init(&c), 0);
	snprintf(path, sizeof(path), "%s/none.json", dir);
	assert_int_equal(config_load_file(&c, path, error, sizeof(error)), -ENOENT);
	snprintf(expected, sizeof(expected),
		 "%s: cannot read the configuration: No such file or directory", path);
	assert_string_equal(error, expected);
	assert_int_equal(config_load_file(&c, dir, error, sizeof(error)), -EISDIR);

	snprintf(path, sizeof(path), "%s/big.YML", dir);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, CONFIG_MAX_FILE + 1), 0);
	assert_int_equal(config_load_file(&c, path, error, sizeof(error)), -EFBIG);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(config_load_file(&c, path, error, sizeof(error)), 0);
	close(fd);
	unlink(path);
	assert_int_equal(config_load_file(&c, "/dev/zero", error, sizeof(error)), -EFBIG);
	rmdir(dir);
}

static void test_environment(void **state)
{
	_cleanup_config_ struct config c = {0};
	char error[CONFIG_ERROR_MAX];

	assert_int_equal(config_init(&c), 0);
	setenv(CONFIG_LEVEL_ENV, "", 1);
	assert_int_equal(config_load_environment(&c, error, sizeof(error)), 0);
	assert_int_equal(config_choice(&c, CONFIG_LOG_LEVEL), LOG_REPORT);
	setenv(CONFIG_LEVEL_ENV, "warning", 1);
	assert_int_equal(config_load_environment(&c, error, sizeof(error)), 0);
	assert_int_equal(config_choice(&c, CONFIG_LOG_LEVEL), LOG_WARNING);
	setenv(CONFIG_LEVEL_ENV, "loud", 1);
	assert_true(config_load_environment(&c, error, sizeof(error)) < 0);
	assert_string_equal(
		error, "environment variable WITTY_PROFILER_ROOT_LOGGER_LEVEL must be VERBOSE, "
		       "DEBUG, INFO, REPORT, WARNING, ERROR or CRITICAL, not 'loud'");
	unsetenv(CONFIG_LEVEL_ENV);
}

static void test_collector_names(void **state)
{
	_cleanup_config_ struct config c = {0};
	static const char text[] = "{\"collector_config\": {\"disabled_collectors\": "
				   "[\"SocketCollector\", \"shared_memory\", \"numaX\", \"x\"]}}";
	enum config_key key = CONFIG_COLLECTOR_DISABLED_COLLECTORS;
	char error[CONFIG_ERROR_MAX];

	assert_int_equal(config_init(&c), 0);
	assert_int_equal(config_load_text(&c, "f", text, strlen(text), CONFIG_FORMAT_JSON, error,
					  sizeof(error)),
			 0);
	assert_true(config_lists_collector(&c, key, "socket"));
	assert_true(config_lists_collector(&c, key, "shared_memory"));
	assert_true(config_lists_collector(&c, key, "sharedmemory"));
	assert_false(config_lists_collector(&c, key, "numa"));
	assert_false(config_lists_collector(&c, key, "sock"));
	assert_false(config_lists_collector(&c, key, "container"));
}

static void test_suggest(void **state)
{
	char buf[SUGGEST_QUOTED], longer[400];

	assert_int_equal(suggest_distance("port", "port"), 0);
	assert_int_equal(suggest_distance("prot", "port"), 1);
	assert_int_equal(suggest_distance("", "port"), 4);
	assert_int_equal(suggest_distance("kitten", "sitting"), 3);
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	assert_true(suggest_distance(longer, "port") > 100);
	assert_string_equal(suggest_quote("a\n\xff", buf), "'a\\x0a\\xff'");
	assert_true(strlen(suggest_quote(longer, buf)) < SUGGEST_QUOTED);
	assert_non_null(strstr(buf, "...'"));
}

/* --- broken files must end in an error (or load), and in nothing else --------------------------
 */

static void feed(const char *text, size_t len)
{
	for (enum config_format f = CONFIG_FORMAT_GUESS; f <= CONFIG_FORMAT_TOML; f++) {
		_cleanup_config_ struct config c = {0};
		char error[CONFIG_ERROR_MAX] = "";
		/* a copy of its exact size lets ASan see a read beyond */
		_cleanup_free_ char *copy = malloc(len + 1);

		assert_non_null(copy);
		memcpy(copy, text, len);
		copy[len] = '\0';
		if (config_load_text(&c, "f", copy, len, f, error, sizeof(error)) < 0) {
			assert_true(error[0] != '\0');
			assert_null(strchr(error, '\n'));
		}
	}
}

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223; /* Numerical Recipes: the same on every run */
	return *state >> 8;
}

static void mutate(char *text, size_t *len, uint32_t *seed)
{
	static const char bytes[] = "{}[]\":,\\'=.#-&*!?|>%@`\n\t \x00\xff\xc3\xef"
				    "0nt";
	unsigned int n = 1 + next_random(seed) % 4;

	while (n--) {
		size_t at = next_random(seed) % *len, cut = next_random(seed) % 8;

		switch (next_random(seed) % 3) {
		case 0:
			text[at] = bytes[next_random(seed) % (sizeof(bytes) - 1)];
			break;
		case 1: /* cut a piece out */
			cut = MIN(cut, *len - at);
			if (cut == *len)
				break;
			memmove(text + at, text + at + cut, *len - at - cut);
			*len -= cut;
			break;
		default: /* copy a piece to elsewhere */
			cut = MIN(cut, *len - at);
			memmove(text + next_random(seed) % (*len - cut + 1), text + at, cut);
		}
	}
}

static void test_broken_files(void **state)
{
	static const char *const names[] = {"good.json", "good.yaml", "good.toml",
					    "reference.json"};
	const char *rounds_text = getenv("WITTYFS_FUZZ_ROUNDS");
	long rounds = rounds_text ? atol(rounds_text) : 400;
	uint32_t seed = 1;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_free_ char *text = NULL;
		char path[4096];
		size_t len;

		assert_int_equal(fdio_read_all_at(AT_FDCWD, data_path(path, sizeof(path), names[i]),
						  65536, &text, &len, NULL),
				 0);
		for (size_t n = 0; n < len; n += 3)
			feed(text, n);
		for (long n = 0; n < rounds; n++) {
			_cleanup_free_ char *copy = strndup(text, len);
			size_t copy_len = len;

			assert_non_null(copy);
			mutate(copy, &copy_len, &seed);
			feed(copy, copy_len);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),       cmocka_unit_test(test_levels),
		cmocka_unit_test(test_good_files),     cmocka_unit_test(test_same_in_all_formats),
		cmocka_unit_test(test_reference_file), cmocka_unit_test(test_dump_round_trip),
		cmocka_unit_test(test_sample),	       cmocka_unit_test(test_refused),
		cmocka_unit_test(test_accepted),       cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_deep_toml),      cmocka_unit_test(test_files),
		cmocka_unit_test(test_environment),    cmocka_unit_test(test_collector_names),
		cmocka_unit_test(test_suggest),	       cmocka_unit_test(test_broken_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
