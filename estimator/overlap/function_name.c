/* SPDX-License-Identifier: Apache-2.0 */
/* The function's own name in a demangled one, however a profiler demangled it. */
#include "overlap/counters.h"

#include <string.h>

/* Where brackets that stand for a namespace without a name end; 0 where there are none. */
static size_t unnamed(const char *text)
{
    static const char *const spellings[] = {"(anonymous namespace)", "<unnamed>", "<(anonymous)>"};
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
        size_t length = strlen(spellings[i]);
        if (strncmp(text, spellings[i], length) == 0) {
            return length;
        }
    }
    return 0;
}

/*
 * Outside of all brackets, a blank or "::" begins a new name, '<' ends it (its arguments), and '('
 * ends all.
 */
const char *st_function_name(const char *name, size_t *length)
{
    const char *start = name;
    const char *end = NULL; /* of the name, where its arguments begin */
    int depth = 0;
    const char *at = name;
    while (*at != '\0') {
        size_t passed = unnamed(at);
        if (passed > 0) {
            at += passed;
            continue;
        }
        if (*at == '(' && depth == 0) {
            break;
        }
        if (*at == '<' || *at == '(') {
            end = depth++ == 0 && end == NULL ? at : end;
        } else if (*at == '>' || *at == ')') {
            depth -= depth > 0 ? 1 : 0;
        } else if (depth == 0 && (*at == ' ' || (at[0] == ':' && at[1] == ':'))) {
            at += *at == ':' ? 1 : 0;
            start = at + 1;
            end = NULL;
        }
        at++;
    }
    end = end != NULL ? end : at;
    if (end <= start) { /* an operator, or nothing that is known */
        *length = strlen(name);
        return name;
    }
    *length = (size_t)(end - start);
    return start;
}
