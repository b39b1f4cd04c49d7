/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a fuzz target over every file of a folder, in the order of their names: the corpus and all
 * findings of the past stay tests, with any compiler and without a fuzzing engine.
 */
#include "fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BYTES = 4 * 1024 * 1024 };

static int visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static bool replay_file(const char *folder, const char *name)
{
    bool done = false;
    uint8_t *data = NULL;
    FILE *file = NULL;
    st_buffer path = {0};
    st_buffer_printf(&path, "%s/%s", folder, name);
    if (path.failed) {
        goto cleanup;
    }
    file = fopen(path.data, "rb");
    data = malloc(MAX_BYTES);
    if (!file || !data) {
        fprintf(stderr, "%s: cannot be read: %s\n", path.data, strerror(errno));
        goto cleanup;
    }
    size_t size = fread(data, 1, MAX_BYTES, file);
    if (ferror(file) || !feof(file)) {
        fprintf(stderr, "%s: cannot be read whole\n", path.data);
        goto cleanup;
    }
    fprintf(stderr, "%s, %zu bytes\n", path.data, size);
    (void)LLVMFuzzerTestOneInput(data, size);
    done = true;

cleanup:
    if (file) {
        fclose(file);
    }
    free(data);
    st_buffer_free(&path);
    return done;
}

int main(int argc, char **argv)
{
    struct dirent **entries = NULL;
    int failed = 0;
    if (argc != 2) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    int count = scandir(argv[1], &entries, visible, alphasort);
    if (count <= 0) {
        fprintf(stderr, "%s: no corpus there\n", argv[1]);
        return 1;
    }
    for (int i = 0; i < count; i++) {
        if (!replay_file(argv[1], entries[i]->d_name)) {
            failed++;
        }
        free(entries[i]);
    }
    free(entries);
    printf("%d files replayed, %d could not be read\n", count - failed, failed);
    return failed == 0 ? 0 : 1;
}
