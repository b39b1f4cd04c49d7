/* SPDX-License-Identifier: Apache-2.0 */
/* The claims that every fuzz target makes; see fuzz.h. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

void fuzz_fail(const char *condition, const char *file, int line)
{
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
    abort();
}

size_t fuzz_split(const uint8_t *data, size_t size, fuzz_part parts[FUZZ_PARTS])
{
    size_t count = 1;
    parts[0] = (fuzz_part){(const char *)data, size};
    while (count < FUZZ_PARTS) {
        fuzz_part *last = &parts[count - 1];
        const char *cut = last->length > 0 ? memchr(last->text, '\f', last->length) : NULL;
        if (!cut) {
            break;
        }
        size_t before = (size_t)(cut - last->text);
        parts[count] = (fuzz_part){cut + 1, last->length - before - 1};
        last->length = before;
        count++;
    }
    return count;
}

char *fuzz_copy(const char *text, size_t length)
{
    char *copy = malloc(length > 0 ? length : 1);
    FUZZ_REQUIRE(copy != NULL);
    if (length > 0) {
        memcpy(copy, text, length);
    }
    return copy;
}

static void check_message(const st_error *error)
{
    char *line = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&line, &length);
    FUZZ_REQUIRE(stream != NULL);
    st_error_write(error, stream);
    FUZZ_REQUIRE(fclose(stream) == 0);
    FUZZ_REQUIRE(length > 1 && line[length - 1] == '\n');
    for (size_t i = 0; i + 1 < length; i++) {
        unsigned char c = (unsigned char)line[i];
        FUZZ_REQUIRE(c >= 0x20 && c != 0x7f);
    }
    free(line);
}

void fuzz_check_errors(st_status status, const st_errors *errors)
{
    size_t count = st_errors_count(errors, ST_SEVERITY_ERROR);
    FUZZ_REQUIRE((status == ST_OK) == (count == 0));
    FUZZ_REQUIRE(status != ST_ERR_MEMORY);
    for (size_t i = 0; i < st_errors_size(errors); i++) {
        const st_error *error = st_errors_at(errors, i);
        FUZZ_REQUIRE(error->message != NULL && error->message[0] != '\0');
        FUZZ_REQUIRE(error->place.line >= 0 && error->place.column >= 0);
        check_message(error);
    }
}
