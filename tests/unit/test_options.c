/* SPDX-License-Identifier: MIT */
/* The command line: what each option sets, what is refused and in which words, what goes first. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/options.h"
#include "util/fdio.h"
#include "util/log.h"

#define MAX_WORDS 32

/* Splits a line at blanks; "''" is an empty word. */
static int parse_line(const char *line, char *copy, struct options *o, char *error, size_t size)
{
	char *argv[MAX_WORDS] = {"wittyfs"}, *before[MAX_WORDS], *save = NULL;
	int argc = 1, r;

	strcpy(copy, line);
	for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
		assert_true(argc < MAX_WORDS - 1);
		argv[argc++] = strcmp(w, "''") == 0 ? "" : w;
	}
	memcpy(before, argv, sizeof(argv));
	r = options_parse(argc, argv, o, error, size);
	assert_memory_equal(before, argv, sizeof(argv));
	return r;
}

static void parse_good(const char *line, char *copy, struct options *o)
{
	char error[CONFIG_ERROR_MAX] = "";

	if (parse_line(line, copy, o, error, sizeof(error)) != 0)
		fail_msg("wittyfs %s: %s", line, error);
}

static void test_nothing(void **state)
{
	_cleanup_options_ struct options o = {0};
	char copy[256];

	parse_good("", copy, &o);
	assert_int_equal(o.action, OPTION_ACTION_RUN);
	assert_string_equal(config_string(&o.config, CONFIG_MOUNT_MOUNTPOINT), "/run/wittyfs");
	assert_true(o.fast_fail);
	assert_false(o.daemonize);
	assert_int_equal(o.n_pids, 0);
	assert_null(o.fsroot);
}

static void test_run(void **state)
{
	_cleanup_options_ struct options o = {0};
	char copy[512];

	parse_good("--daemon --host=::1 /mnt/a --port 0 --pid 12,13 --pid=12 --pid 4194304 "
		   "--log-level verbose --interval=250ms --no-fast-fail --group= --mode world",
		   copy, &o);
	assert_int_equal(o.action, OPTION_ACTION_RUN);
	assert_true(o.daemonize);
	assert_false(o.fast_fail);
	assert_string_equal(config_string(&o.config, CONFIG_MOUNT_MOUNTPOINT), "/mnt/a");
	assert_string_equal(config_string(&o.config, CONFIG_SERVER_SERVER_ADDR_HOST), "::1");
	assert_string_equal(config_string(&o.config, CONFIG_MOUNT_GROUP), "");
	assert_int_equal(config_int(&o.config, CONFIG_SERVER_SERVER_ADDR_PORT), 0);
	assert_int_equal(config_choice(&o.config, CONFIG_LOG_LEVEL), LOG_VERBOSE);
	assert_int_equal(config_choice(&o.config, CONFIG_MOUNT_MODE), 1);
	assert_int_equal(config_duration_ns(&o.config, CONFIG_COLLECTOR_INTERVAL),
			 250 * NSEC_PER_MSEC);
	assert_int_equal(o.n_pids, 3);
	assert_int_equal(o.pids[0], 12);
	assert_int_equal(o.pids[1], 13);
	assert_int_equal(o.pids[2], 4194304);
}

static void test_actions(void **state)
{
	static const struct {
		const char *line;
		enum option_action action;
		const char *file, *mountpoint;
		uint64_t duration_ms;
	} lines[] = {
		{"--offline", OPTION_ACTION_OFFLINE, NULL, NULL, 10000},
		{"--offline -d 0.5 --output /x --pid 1", OPTION_ACTION_OFFLINE, NULL, NULL, 500},
		{"--offline -d3 --fsroot /r", OPTION_ACTION_OFFLINE, NULL, NULL, 3000},
		{"--offline --duration=2m", OPTION_ACTION_OFFLINE, NULL, NULL, 120000},
		{"--from g.json /mnt --daemon", OPTION_ACTION_FROM, "g.json", "/mnt", 10000},
		{"--from=g.json", OPTION_ACTION_FROM, "g.json", "/run/wittyfs", 10000},
		{"--view-graph g.json", OPTION_ACTION_VIEW, "g.json", NULL, 10000},
		{"--dump-config", OPTION_ACTION_DUMP, NULL, NULL, 10000},
		{"--dump-config -", OPTION_ACTION_DUMP, NULL, NULL, 10000},
		{"--dump-config out.json", OPTION_ACTION_DUMP, "out.json", "/run/wittyfs", 10000},
		{"--dump=out.json /mnt", OPTION_ACTION_DUMP, "out.json", "/mnt", 10000},
		{"--dump --port 5", OPTION_ACTION_DUMP, NULL, "/run/wittyfs", 10000},
		{"/mnt --dump out.json", OPTION_ACTION_DUMP, "out.json", "/mnt", 10000},
		{"--verify --log-level INFO", OPTION_ACTION_VERIFY, NULL, NULL, 10000},
		{"-- --mnt", OPTION_ACTION_RUN, NULL, "--mnt", 10000},
		{"--help --what", OPTION_ACTION_HELP},
		{"--offline -h", OPTION_ACTION_HELP},
		{"-V", OPTION_ACTION_VERSION},
		{"--version", OPTION_ACTION_VERSION},
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		_cleanup_options_ struct options o = {0};
		const char *file;
		char copy[256];

		print_message("wittyfs %s\n", lines[i].line);
		parse_good(lines[i].line, copy, &o);
		assert_int_equal(o.action, lines[i].action);
		file = o.action == OPTION_ACTION_DUMP ? o.dump_path : o.graph_file;
		if (lines[i].file)
			assert_string_equal(file, lines[i].file);
		else
			assert_null(file);
		if (lines[i].mountpoint)
			assert_string_equal(config_string(&o.config, CONFIG_MOUNT_MOUNTPOINT),
					    lines[i].mountpoint);
		if (lines[i].duration_ms)
			assert_int_equal(o.duration_ns, lines[i].duration_ms * NSEC_PER_MSEC);
	}
}

static const struct {
	const char *line, *error;
} refused[] = {
	{"--prot 5", "unknown option '--prot': did you mean '--port'?"},
	{"--prot=5", "unknown option '--prot': did you mean '--port'?"},
	{"--deamon", "unknown option '--deamon': did you mean '--daemon'?"},
	{"/mnt --verfy", "unknown option '--verfy': did you mean '--verify'?"},
	{"-x", "unknown option '-x': wittyfs --help lists all options"},
	{"--port", "--port needs a value: --port PORT"},
	{"-d", "--duration needs a value: --duration SECONDS"},
	{"--daemon=1", "--daemon takes no value"},
	{"--port 70000", "--port must be a whole number from 0 to 65535, not 70000"},
	{"--port -1", "--port must be a whole number from 0 to 65535, not -1"},
	{"--port abc", "--port must be a whole number from 0 to 65535, not 'abc'"},
	{"--port ''", "--port must be a whole number from 0 to 65535, not ''"},
	{"--port 99999999999999999999", "--port must be a whole number from 0 to 65535, not 1e+20"},
	{"--port x --port 5", "--port must be a whole number from 0 to 65535, not 'x'"},
	{"--pid -5",
	 "--pid must be a number from 1 to 4194304, or several with commas between, not '-5'"},
	{"--pid abc",
	 "--pid must be a number from 1 to 4194304, or several with commas between, not 'abc'"},
	{"--pid 1,,2",
	 "--pid must be a number from 1 to 4194304, or several with commas between, not '1,,2'"},
	{"--pid 0",
	 "--pid must be a number from 1 to 4194304, or several with commas between, not '0'"},
	{"--pid=", "--pid must be a number from 1 to 4194304, or several with commas between, not "
		   "''"},
	{"--log-level FOO",
	 "--log-level must be VERBOSE, DEBUG, INFO, REPORT, WARNING, ERROR or CRITICAL, not 'FOO'"},
	{"--mode all", "--mode must be group or world, not 'all'"},
	{"--offline --duration x",
	 "--duration must be a time such as 5, 0.5 (seconds), 500ms or 2m, from 1ms to 2592000, "
	 "not 'x'"},
	{"--offline --duration 0",
	 "--duration must be a time such as 5, 0.5 (seconds), 500ms or 2m, from 1ms to 2592000, "
	 "not '0'"},
	{"--interval 1ms",
	 "--interval must be a time such as 5, 0.5 (seconds), 500ms or 2m, from 50ms to 86400, "
	 "not '1ms'"},
	{"--http", "--http: the HTTP bridge is not built into this version: leave the option out"},
	{"--http :80",
	 "--http: the HTTP bridge is not built into this version: leave the option out"},
	{"/a /b", "one mountpoint is enough: what is '/b'?"},
	{"''", "the mountpoint must be a string of 1 to 4000 bytes, not ''"},
	{"--offline /mnt", "--offline mounts nothing: leave the mountpoint '/mnt' out"},
	{"--verify /mnt", "--verify mounts nothing: leave the mountpoint '/mnt' out"},
	{"--offline --verify", "--offline and --verify exclude each other: give one of them"},
	{"--from a --view-graph b", "--from and --view-graph exclude each other: give one of them"},
	{"--from g.json --pid 5", "--pid does not go with --from: leave one out"},
	{"--offline --daemon", "--daemon does not go with --offline: leave one out"},
	{"--duration 5", "--duration needs --offline"},
	{"--output /x", "--output needs --offline"},
	{"--config /nonexistent.json",
	 "/nonexistent.json: cannot read the configuration: No such file or directory"},
};

static void test_refused(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		struct options o = {0};
		char copy[256], error[CONFIG_ERROR_MAX] = "";

		if (parse_line(refused[i].line, copy, &o, error, sizeof(error)) == 0)
			fail_msg("was accepted: wittyfs %s", refused[i].line);
		assert_string_equal(error, refused[i].error);
		assert_null(o.pids);
	}
}

/* default < environment < file < command line */
static void test_precedence(void **state)
{
	static const char text[] = "log_level: error\nmount_config: {group: file, mode: world}\n";
	char path[] = "/tmp/wittyfs-options-XXXXXX", line[256], copy[256];
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(fdio_write_all(fd, text, strlen(text)), 0);
	close(fd);
	setenv(CONFIG_LEVEL_ENV, "DEBUG", 1);
	{
		_cleanup_options_ struct options o = {0};

		parse_good("", copy, &o);
		assert_int_equal(config_choice(&o.config, CONFIG_LOG_LEVEL), LOG_DEBUG);
	}
	{
		_cleanup_options_ struct options o = {0};

		snprintf(line, sizeof(line), "--group cli --config %s", path);
		parse_good(line, copy, &o);
		assert_int_equal(config_choice(&o.config, CONFIG_LOG_LEVEL), LOG_ERROR);
		assert_string_equal(config_string(&o.config, CONFIG_MOUNT_GROUP), "cli");
		assert_int_equal(config_choice(&o.config, CONFIG_MOUNT_MODE), 1);
		assert_string_equal(config_string(&o.config, CONFIG_MOUNT_MOUNTPOINT),
				    "/run/wittyfs");
	}
	{
		_cleanup_options_ struct options o = {0};

		snprintf(line, sizeof(line), "--log-level info --config=%s", path);
		parse_good(line, copy, &o);
		assert_int_equal(config_choice(&o.config, CONFIG_LOG_LEVEL), LOG_INFO);
	}
	unsetenv(CONFIG_LEVEL_ENV);
	unlink(path);
}

static void test_many_pids(void **state)
{
	_cleanup_free_ char *list = calloc(1, OPTIONS_MAX_PIDS * 8);
	char *argv[] = {"wittyfs", "--pid", list, NULL};
	struct options o = {0};
	char error[CONFIG_ERROR_MAX];
	size_t len = 0;

	assert_non_null(list);
	for (int i = 1; i <= OPTIONS_MAX_PIDS + 1; i++)
		len += (size_t)sprintf(list + len, "%s%d", i > 1 ? "," : "", i);
	assert_int_equal(options_parse(3, argv, &o, error, sizeof(error)), -E2BIG);
	assert_string_equal(error, "--pid: more than 4096 pids");
	*strrchr(list, ',') = '\0';
	assert_int_equal(options_parse(3, argv, &o, error, sizeof(error)), 0);
	assert_int_equal(o.n_pids, OPTIONS_MAX_PIDS);
	options_deinit(&o);
}

static void test_hostile_words(void **state)
{
	char *argv[] = {"wittyfs", "--a\nb\xff", NULL};
	struct options o = {0};
	char error[CONFIG_ERROR_MAX];

	assert_true(options_parse(2, argv, &o, error, sizeof(error)) < 0);
	assert_null(strchr(error, '\n'));
	argv[1] = "/mnt/\xff\n";
	assert_int_equal(options_parse(2, argv, &o, error, sizeof(error)), 0);
	{
		_cleanup_strbuf_ struct strbuf b = {0};

		assert_int_equal(config_dump(&o.config, &b), 0);
		assert_non_null(strstr(strbuf_cstr(&b), "\"/mnt/\xef\xbf\xbd\\n\""));
	}
	options_deinit(&o);
}

static void test_help(void **state)
{
	_cleanup_strbuf_ struct strbuf b = {0};
	const char *text;

	options_help(&b);
	text = strbuf_cstr(&b);
	for (unsigned int i = 0; i < OPTION_COUNT; i++) {
		char name[64];

		snprintf(name, sizeof(name), "--%s", option_rows[i].name);
		assert_non_null(strstr(text, name));
	}
	for (const char *line = text; *line; line = strchr(line, '\n') + 1)
		assert_true(strcspn(line, "\n") <= 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing),	      cmocka_unit_test(test_run),
		cmocka_unit_test(test_actions),	      cmocka_unit_test(test_refused),
		cmocka_unit_test(test_precedence),    cmocka_unit_test(test_many_pids),
		cmocka_unit_test(test_hostile_words), cmocka_unit_test(test_help),
	};

	unsetenv(CONFIG_LEVEL_ENV);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
