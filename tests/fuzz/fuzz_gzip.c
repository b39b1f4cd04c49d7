/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compressed text from any bytes: a reader of a trace's bytes ends, with all of the text or a
 * reason, and never gives much more than it was given. What is packed reads back to the same.
 */
#include "fuzz.h"

#include "trace/bytes.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK = 997, MOST_TIMES = 1032, SLACK = 1 << 20 };

/* All of the text behind `text`; the caller frees it. */
static st_status read_all(const char *text, size_t length, st_buffer *all, st_errors *errors)
{
    st_bytes *bytes = NULL;
    char block[BLOCK];
    size_t got = 1;
    st_status status = ST_OK;
    st_bytes_from_memory("input", text, length, &bytes);
    while (status == ST_OK && got > 0) {
        got = 0;
        status = st_bytes_read(bytes, block, sizeof block, &got, errors);
        FUZZ_REQUIRE(got <= sizeof block);
        st_buffer_append(all, block, got);
        /* deflate packs a byte into 1/1032 at best */
        FUZZ_REQUIRE(all->length <= length * MOST_TIMES + SLACK);
    }
    st_bytes_close(bytes);
    return status;
}

/* A file gives what its bytes give. */
static void check_file(const char *text, size_t length, const st_buffer *all)
{
    char path[] = "/tmp/steptime-fuzz-XXXXXX";
    char block[BLOCK];
    st_bytes *bytes = NULL;
    size_t got = 1;
    size_t at = 0;
    int file = mkstemp(path);
    FUZZ_REQUIRE(file >= 0 && write(file, text, length) == (ssize_t)length && close(file) == 0);
    FUZZ_REQUIRE(st_bytes_open(path, &bytes, NULL) == ST_OK);
    FUZZ_REQUIRE(unlink(path) == 0 && strcmp(st_bytes_name(bytes), path) == 0);
    while (got > 0) {
        FUZZ_REQUIRE(st_bytes_read(bytes, block, sizeof block, &got, NULL) == ST_OK);
        FUZZ_REQUIRE(got <= all->length - at && memcmp(all->data + at, block, got) == 0);
        at += got;
    }
    FUZZ_REQUIRE(at == all->length && (!st_bytes_cut(bytes) || length > 0));
    st_bytes_close(bytes);
}

static void check_round_trip(const char *text, size_t length)
{
    st_buffer packed = {0};
    st_buffer again = {0};
    if (length >= 2 && (unsigned char)text[0] == 0x1F && (unsigned char)text[1] == 0x8B)
        return; /* text that is itself gzip reads as what it packs */
    st_buffer_append(&packed, text, length);
    FUZZ_REQUIRE(st_gzip(&packed, NULL) == ST_OK);
    FUZZ_REQUIRE(read_all(packed.data, packed.length, &again, NULL) == ST_OK);
    FUZZ_REQUIRE(again.length == length);
    FUZZ_REQUIRE(length == 0 || memcmp(again.data, text, length) == 0);
    st_buffer_free(&packed);
    st_buffer_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_copy((const char *)data, size);
    st_errors *errors = st_errors_create();
    st_buffer all = {0};
    FUZZ_REQUIRE(errors != NULL);
    st_status status = read_all(text, size, &all, errors);
    fuzz_check_errors(status, errors);
    if (status == ST_OK)
        check_file(text, size, &all);
    check_round_trip(text, size);
    st_buffer_free(&all);
    st_errors_destroy(errors);
    free(text);
    return 0;
}
