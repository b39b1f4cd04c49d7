/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expressions from any bytes, each inside a small sheet. The first character says where the text
 * stands and of which type it is to be; the rest is the expression.
 */
#include "fuzz.h"

#include <string.h>

/* Everything that an expression may name. */
#define INPUTS                                                                                     \
    "sheet: fuzz\n"                                                                                \
    "enums:\n"                                                                                     \
    "  mode: [none, part, full]\n"                                                                 \
    "inputs:\n"                                                                                    \
    "  n:\n    from: parallel.dp\n    doc: ranks\n"                                                \
    "  V:\n    from: constants.v\n    unit: MB\n    doc: message\n"                                \
    "  C:\n    from: constants.c\n    unit: GB/s\n    doc: bandwidth\n"                            \
    "  t:\n    from: constants.t\n    unit: us\n    doc: latency\n"                                \
    "  w:\n    from: constants.w\n    unit: bool\n    doc: switch\n"                               \
    "  m:\n    from: constants.m\n    unit: mode\n    doc: mode\n"
#define FUNCTIONS                                                                                  \
    "functions:\n"                                                                                 \
    "  f:\n    args: {x: 1, size: B, on: bool}\n    unit: us\n    doc: ring\n"                     \
    "    is: if(on, (x - 1)/x * size/3.5[GB/s], 0[us])\n"
#define CELLS                                                                                      \
    "cells:\n"                                                                                     \
    "  T:\n    unit: ms\n    doc: time\n    is: f(n, V, w) + t\n"
#define CELL          INPUTS FUNCTIONS CELLS "  X:\n    doc: x\n    is: |-\n"
#define CELL_OF(unit) INPUTS FUNCTIONS CELLS "  X:\n    doc: x\n    unit: " unit "\n    is: |-\n"

/* The text follows as an indented block of its own. */
typedef struct setting {
    char letter;
    const char *sheet;
} setting;

static const setting settings[] = {
    {'1', CELL},
    {'a', INPUTS FUNCTIONS CELLS
     "  M:\n    per: mode\n    unit: us\n    doc: m\n    is: if(mode == m, t, 2.385*t)\n"
     "  X:\n    doc: x\n    is: |-\n"},
    {'B', CELL_OF("MiB")},
    {'s', CELL_OF("us")},
    {'r', CELL_OF("GB/s")},
    {'b', CELL_OF("bool")},
    {'m', CELL_OF("mode")},
    {'c', INPUTS FUNCTIONS CELLS "checks:\n  - else: no {T} in {m}\n    that: |-\n"},
    {'e', INPUTS FUNCTIONS CELLS "checks:\n  - that: n > 2.385\n    else: |-\n"},
    {'f', INPUTS CELLS "  X:\n    unit: us\n    doc: x\n    is: g(n, V, w)\n" FUNCTIONS
                       "  g:\n    args: {x: 1, size: B, on: bool}\n    unit: us\n    doc: g\n"
                       "    is: |-\n"},
};

static const setting *find_setting(char letter)
{
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        if (settings[i].letter == letter) {
            return &settings[i];
        }
    }
    return &settings[0];
}

/* A block scalar goes on as long as its lines are indented. */
static void append_indented(st_buffer *sheet, const char *text, size_t length)
{
    st_buffer_text(sheet, "      ");
    for (size_t i = 0; i < length; i++) {
        st_buffer_append(sheet, &text[i], 1);
        if (text[i] == '\n') {
            st_buffer_text(sheet, "      ");
        }
    }
    st_buffer_text(sheet, "\n");
}

static st_status read_sheet(void *context, const char *name, st_place place, st_arena *arena,
                            st_source *source, st_errors *errors)
{
    const st_buffer *sheet = context;
    if (strcmp(name, "fuzz") != 0) { /* the text found a way out of its block */
        return st_errors_add(
            errors, &(st_error){.status = ST_ERR_NAME, .place = place, .message = "no such sheet"});
    }
    source->file = "fuzz.yaml";
    source->text = st_arena_copy(arena, sheet->data, sheet->length);
    source->length = sheet->length;
    return source->text ? ST_OK : ST_ERR_MEMORY;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    const st_sheet *sheet = NULL;
    st_buffer yaml = {0};
    st_errors *errors = st_errors_create();
    st_arena *arena = st_arena_create();
    FUZZ_REQUIRE(errors != NULL && arena != NULL);

    st_buffer_text(&yaml, find_setting(size > 0 ? text[0] : '1')->sheet);
    append_indented(&yaml, size > 0 ? text + 1 : "", size > 0 ? size - 1 : 0);
    FUZZ_REQUIRE(!yaml.failed);
    st_sheet_reader reader = {read_sheet, &yaml};
    st_status status = st_sheet_load(&reader, "fuzz", arena, &sheet, errors);
    fuzz_check_errors(status, errors);
    if (status == ST_OK) {
        fuzz_check_sheet(sheet, arena);
    }
    st_arena_destroy(arena);
    st_errors_destroy(errors);
    st_buffer_free(&yaml);
    return 0;
}
