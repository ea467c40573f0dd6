/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "collect/probe_table.h"

static void count_gone(void *arg, const void *key, const void *value)
{
	*(uint64_t *)arg += *(const uint64_t *)value;
}

static void test_table(void **state)
{
	struct probe_table t;
	uint64_t *v, gone = 0;
	bool fresh;

	probe_table_init(&t, sizeof(uint64_t), sizeof(uint64_t));
	probe_table_sweep(&t, count_gone, &gone);
	for (uint64_t k = 0; k < 5000; k++) {
		assert_null(probe_table_find(&t, &k));
		v = probe_table_need(&t, &k, &fresh);
		assert_non_null(v);
		assert_true(fresh);
		*v = k + 1;
		assert_ptr_equal(probe_table_need(&t, &k, &fresh), v);
		assert_false(fresh);
	}
	probe_table_sweep(&t, count_gone, &gone);
	assert_int_equal(gone, 0);
	assert_int_equal(t.n, 5000);
	/* Every third is used again; the rest goes. */
	for (uint64_t k = 0; k < 5000; k += 3)
		assert_int_equal(*(uint64_t *)probe_table_find(&t, &k), k + 1);
	probe_table_sweep(&t, count_gone, &gone);
	assert_int_equal(t.n, 1667);
	for (uint64_t k = 0; k < 5000; k++) {
		v = probe_table_find(&t, &k);
		assert_int_equal(v ? *v : 0, k % 3 ? 0 : k + 1);
		gone += v ? *v : 0;
	}
	assert_int_equal(gone, 5000 * 5001 / 2);
	probe_table_deinit(&t);
	probe_table_deinit(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_table)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
