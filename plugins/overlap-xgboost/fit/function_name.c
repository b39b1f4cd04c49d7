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
    name_reader own = {.at = name, .start = name};
    while (*own.at != '\0') {
        /* Where brackets that stand for a namespace without a name end. */
        size_t passed = 0;
        const char *text = own.at;
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
            own.at += passed;
        } else if (*own.at == '(' && own.depth == 0) {
            break; /* parameters */
        } else {
            /* Passes one character. Outside of all brackets, a blank or "::" begins a new name and
             * '<' ends it (its arguments). */
            char c = *own.at;
            if (c == '<' || c == '(') {
                own.end = own.depth == 0 && own.end == NULL ? own.at : own.end;
                own.depth++;
            } else if (c == '>' || c == ')') {
                own.depth -= own.depth > 0 ? 1 : 0;
            } else if (own.depth == 0 && (c == ' ' || strncmp(own.at, "::", 2) == 0)) {
                own.at += c == ':' ? 1 : 0;
                own.start = own.at + 1;
                own.end = NULL;
            }
            own.at++;
        }
    }
    const char *end = own.end != NULL ? own.end : own.at;
    if (end <= own.start) { /* an operator, or nothing that is known */
        *length = strlen(name);
        return name;
    }
    *length = (size_t)(end - own.start);
    return own.start;
}
