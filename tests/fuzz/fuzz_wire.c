/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers of an isolated plugin's process, which may be anything: who it is, what it said during a
 * call, the account of a row. The first byte chooses. What is accepted holds as a plugin's own
 * words do; what breaks the format is refused whole.
 */
#include "fuzz.h"
#include "plugin/child.h"
#include "plugin/isolate_answer.h"

#include <stdlib.h>
#include <string.h>

typedef struct heard {
    size_t errors;
    size_t warnings;
} heard;

static void hear_error(void *context, const char *message)
{
    heard *own = context;
    own->errors++;
    FUZZ_REQUIRE(message != NULL);
}

static void hear_log(void *context, int level, const char *message)
{
    heard *own = context;
    own->warnings++;
    FUZZ_REQUIRE(level == ST_PLUGIN_LOG_WARNING && message != NULL && message[0] != '\0');
}

/* Whether there are so many texts and nothing else. */
static bool has_texts(const char *text, size_t length, size_t count)
{
    const char *at = text;
    const char *const end = text + length;
    for (size_t i = 0; i < count; i++) {
        const char *stop =
            at < end && (*at == '+' || *at == '-') ? memchr(at, 0, (size_t)(end - at)) : NULL;
        if (stop == NULL)
            return false;
        at = stop + 1;
    }
    return at == end;
}

static void check_said(const char *text, size_t length)
{
    heard own = {0};
    const st_plugin_host host = {
        .struct_size = sizeof host, .context = &own, .error = hear_error, .log = hear_log};
    st_answer_said(text, length, &host);
    FUZZ_REQUIRE(own.errors <= 1 && own.warnings <= length);
    FUZZ_REQUIRE(own.errors == 1 || has_texts(text, length, 2));
}

static void check_account(const char *text, size_t length, st_arena *arena)
{
    st_provider_account account;
    FUZZ_REQUIRE(st_answer_account(text, length, arena, &account) == ST_OK);
    FUZZ_REQUIRE(account.count <= ST_PLUGIN_MAX_TERMS);
    FUZZ_REQUIRE(account.refusal == NULL || account.count == 0);
    /* The second text is the number of terms. */
    const char *before = memchr(text, 0, length);
    const char *count = before != NULL ? before + 1 : text;
    const bool is_count =
        memchr(count, 0, (size_t)(text + length - count)) != NULL && *count == '+';
    FUZZ_REQUIRE(!is_count || account.refusal != NULL ||
                 strtod(count + 1, NULL) <= ST_PLUGIN_MAX_TERMS);
    for (size_t i = 0; i < account.count; i++) {
        const st_provider_term *term = &account.terms[i];
        FUZZ_REQUIRE(term->name != NULL && term->doc != NULL);
        for (const char *at = term->name; *at != '\0'; at++)
            FUZZ_REQUIRE((unsigned char)*at >= 0x20 && *at != 0x7f);
    }
}

static void check_module(const char *text, size_t length, st_arena *arena)
{
    st_errors *errors = st_errors_create();
    FUZZ_REQUIRE(errors != NULL);
    st_plugin_module module = {.file = "/plugins/fuzzed/fuzzed.so", .folder = ""};
    st_status status = st_answer_module(&module, text, length, (st_place){0}, arena, errors);
    fuzz_check_errors(status, errors);
    if (status == ST_OK) {
        FUZZ_REQUIRE(st_plugin_is_id(module.shown.id));
        FUZZ_REQUIRE(module.shown.provider_count + module.shown.schedule_count >= 1);
        for (size_t i = 0; i < module.shown.provider_count; i++)
            FUZZ_REQUIRE(module.shown.providers[i]->argument_count <= ST_REMOTE_COLUMNS);
    }
    st_errors_destroy(errors);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    st_arena *arena = st_arena_create();
    char *text = fuzz_copy((const char *)data + 1, size - 1);
    FUZZ_REQUIRE(arena != NULL);
    switch (data[0] % 3) {
    case 0:
        check_module(text, size - 1, arena);
        break;
    case 1:
        check_account(text, size - 1, arena);
        break;
    default:
        check_said(text, size - 1);
        break;
    }
    free(text);
    st_arena_destroy(arena);
    return 0;
}
