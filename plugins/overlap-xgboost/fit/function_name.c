/* SPDX-License-Identifier: Apache-2.0 */
/* The function's own name in a demangled one, however a profiler demangled it. */
#include "overlap-xgboost/fit/counters.h"

#include <string.h>

typedef struct name_reader {
    const char *at;
    const char *start; /* of the last name outside of brackets */
    const char *end;   /* where its arguments begin; NULL: they have not */
    int depth;         /* of brackets */
} name_reader;

const char *st_function_name(const char *name, size_t *length)
{
    name_reader reader = {.at = name, .start = name};
    while (*reader.at != '\0') {
        /* Where brackets that stand for a namespace without a name end. */
        size_t passed = 0;
        const char *text = reader.at;
        static const char *const spellings[] = {"(anonymous namespace)", "<unnamed>",
                                                "<(anonymous)>"};
        for (size_t i = 0; i < ST_COUNT(spellings); i++) {
            size_t unnamed_length = strlen(spellings[i]);
            if (strncmp(text, spellings[i], unnamed_length) == 0) {
                passed = unnamed_length;
                break;
            }
        }
        if (passed > 0) {
            reader.at += passed;
        } else if (*reader.at == '(' && reader.depth == 0) {
            break; /* parameters */
        } else {
            /* Passes one character. Outside of all brackets, a blank or "::" begins a new name and
             * '<' ends it (its arguments). */
            char c = *reader.at;
            if (c == '<' || c == '(') {
                reader.end = reader.depth == 0 && reader.end == NULL ? reader.at : reader.end;
                reader.depth++;
            } else if (c == '>' || c == ')') {
                reader.depth -= reader.depth > 0 ? 1 : 0;
            } else if (reader.depth == 0 && (c == ' ' || strncmp(reader.at, "::", 2) == 0)) {
                reader.at += c == ':' ? 1 : 0;
                reader.start = reader.at + 1;
                reader.end = NULL;
            }
            reader.at++;
        }
    }
    const char *end = reader.end != NULL ? reader.end : reader.at;
    if (end <= reader.start) { /* an operator, or nothing that is known */
        *length = strlen(name);
        return name;
    }
    *length = (size_t)(end - reader.start);
    return reader.start;
}
