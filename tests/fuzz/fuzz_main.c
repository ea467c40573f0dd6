/* SPDX-License-Identifier: MIT */
/*
 * Runs a fuzz target over files: `fuzz_x FILE|DIRECTORY…`. So the corpus is a test wherever there
 * is no fuzzer. To fuzz, leave this file out: clang -fsanitize=fuzzer,address fuzz_x.c …
 */
#include <errno.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned int n_files;

static int run_file(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	size_t size = flag == FTW_F ? (size_t)st->st_size : 0;
	uint8_t *data; /* of the exact size: AddressSanitizer sees a step beyond it */
	FILE *f;

	(void)ftw;
	if (flag == FTW_D)
		return 0;
	f = flag == FTW_F ? fopen(path, "re") : NULL;
	data = malloc(size ? size : 1);
	if (!f || !data || fread(data, 1, size, f) != size) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return 1;
	}
	printf("%s\n", path);
	LLVMFuzzerTestOneInput(data, size);
	free(data);
	fclose(f);
	n_files++;
	return 0;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (nftw(argv[i], run_file, 16, FTW_PHYS) != 0)
			return 1;
	if (!n_files)
		fprintf(stderr, "no input\n");
	return n_files ? 0 : 1;
}
