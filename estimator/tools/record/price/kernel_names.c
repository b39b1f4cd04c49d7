/* SPDX-License-Identifier: Apache-2.0 */
/* See kernel_names.h. */
#include "record/price/kernel_names.h"

#include "base/lists.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_NAME = 1000 };

/* __cxa_demangle of the C++ runtime (Itanium C++ ABI, chapter 3.4), which every machine that runs
 * CUDA has; NULL: this one does not. */
typedef char *demangle_function(const char *mangled, char *into, size_t *length, int *status);

static demangle_function *demangler(void)
{
    static demangle_function *found;
    static bool asked;
    static void *library; /* stays open: its function is kept */
    if (!asked) {
        library = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
        void *symbol = library != NULL ? dlsym(library, "__cxa_demangle") : NULL;
        memcpy(&found, &symbol, sizeof found);
        asked = true;
    }
    return found;
}

bool st_kernel_names_known(void)
{
    return demangler() != NULL;
}

/* A stretch of a text. */
typedef struct span {
    const char *at;
    size_t length;
} span;

/* Blanks around it go. */
static span trimmed(const char *at, const char *end)
{
    while (at < end && *at == ' ')
        at++;
    while (end > at && end[-1] == ' ')
        end--;
    return (span){at, (size_t)(end - at)};
}

/* How much deeper in brackets it is behind a character. */
static int deeper(const char *text, const char *at)
{
    if (strchr("(<[{", *at) != NULL)
        return 1;
    if (*at == '>' && at > text && at[-1] == '-') /* -> */
        return 0;
    return strchr(")>]}", *at) != NULL ? -1 : 0;
}

/* The index-th of what commas separate in a text of this length. */
static bool part_of(const char *text, size_t length, size_t index, span *found)
{
    const char *first = text;
    int depth = 0;
    for (const char *at = text; at <= text + length; at++) {
        bool ends = at == text + length || (*at == ',' && depth == 0);
        if (ends && index-- == 0) {
            *found = trimmed(first, at);
            return found->length > 0;
        }
        if (ends)
            first = at + 1;
        else
            depth += deeper(text, at);
    }
    return false;
}

/* Where the bracket that ends at `close` begins; NULL: nowhere. */
static const char *opening(const char *text, const char *close)
{
    int depth = 0;
    for (const char *at = close;; at--) {
        depth += deeper(text, at);
        if (depth == 0)
            return at;
        if (at == text)
            return NULL;
    }
}

/* ---- types ---- */

static bool ends_with(span text, const char *tail)
{
    size_t length = strlen(tail);
    return text.length >= length && memcmp(text.at + text.length - length, tail, length) == 0;
}

unsigned st_kernel_type_bytes(const char *type, size_t length)
{
    static const struct {
        const char *name;
        unsigned bytes;
    } known[] = {
        {"BFloat16", 2},  {"bfloat16_t", 2},    {"bfloat162", 4},      {"bfloat16", 2},
        {"Half", 2},      {"half2", 4},         {"half", 2},           {"half_t", 2},
        {"fp8_e4m3", 1},  {"fp8_e5m2", 1},      {"Float8_e4m3fn", 1},  {"Float8_e5m2", 1},
        {"float4", 16},   {"float2", 8},        {"complex<float>", 8}, {"complex<double>", 16},
        {"float", 4},     {"double", 8},        {"unsigned char", 1},  {"signed char", 1},
        {"char", 1},      {"bool", 1},          {"unsigned short", 2}, {"short", 2},
        {"long long", 8}, {"unsigned long", 8}, {"long", 8},           {"unsigned int", 4},
        {"int", 4},
    };
    const span text = {type, length};
    for (size_t i = 0; i < ST_COUNT(known); i++) {
        size_t own = strlen(known[i].name);
        if (ends_with(text, known[i].name) &&
            (length == own || (!isalnum((unsigned char)type[length - own - 1]))))
            return known[i].bytes;
    }
    return 0;
}

/* "float const*" */
static st_kernel_parameter parameter_of(span text)
{
    static const char restricted[] = "__restrict__", mark[] = " const";
    st_kernel_parameter made = {0};
    if (ends_with(text, restricted))
        text = trimmed(text.at, text.at + text.length - (sizeof restricted - 1));
    if (!ends_with(text, "*")) {
        made.real = ends_with(text, "float") || ends_with(text, "double") ||
                    ends_with(text, "Half") || ends_with(text, "BFloat16");
        return made;
    }
    text = trimmed(text.at, text.at + text.length - 1);
    made.pointer = true;
    made.constant = ends_with(text, mark);
    if (made.constant)
        text.length -= sizeof mark - 1;
    made.width = (uint8_t)st_kernel_type_bytes(text.at, text.length);
    return made;
}

/* ---- names ---- */

/* Behind namespaces and the result: of "void at::native::f<x::y>" it is "f<x::y>". */
static span own_name(span text)
{
    const char *first = text.at;
    int depth = 0;
    for (const char *at = text.at; at < text.at + text.length; at++) {
        if (depth == 0 && *at == '<')
            break;
        depth += deeper(text.at, at);
        if (depth == 0 && (*at == ' ' || *at == ':'))
            first = at + 1;
    }
    return (span){first, (size_t)(text.at + text.length - first)};
}

void st_kernel_name_read(const char *mangled, st_arena *arena, st_kernel_name *name)
{
    int status = 0;
    *name = (st_kernel_name){.name = mangled};
    demangle_function *demangle = demangler();
    char *text = demangle != NULL ? demangle(mangled, NULL, NULL, &status) : NULL;
    if (text == NULL)
        return;
    span whole = trimmed(text, text + strlen(text));
    const char *open = ends_with(whole, ")") ? opening(text, whole.at + whole.length - 1) : NULL;
    if (open != NULL && open > text) {
        size_t inside = (size_t)(whole.at + whole.length - 1 - (open + 1));
        span parameter;
        while (name->parameter_count < ST_KERNEL_PARAMETERS &&
               part_of(open + 1, inside, name->parameter_count, &parameter))
            name->parameters[name->parameter_count++] = parameter_of(parameter);
        whole.length = (size_t)(open - text);
    }
    const span own = own_name(whole);
    name->name =
        st_arena_copy(arena, own.at, own.length < LONGEST_NAME ? own.length : LONGEST_NAME);
    free(text);
}

bool st_kernel_template(const char *text, const char *template_name, size_t index, double *value)
{
    size_t length = strlen(template_name);
    const char *at = strchr(text, '<');
    while (at != NULL &&
           ((size_t)(at - text) < length || memcmp(at - length, template_name, length) != 0))
        at = strchr(at + 1, '<');
    if (at == NULL)
        return false;
    /* A name that was cut has no end. */
    size_t inside = 0;
    for (int depth = 1; at[1 + inside] != '\0'; inside++) {
        depth += deeper(at + 1, at + 1 + inside);
        if (depth == 0)
            break;
    }
    span part;
    if (!part_of(at + 1, inside, index, &part))
        return false;
    if (*part.at == '(') { /* "(bool)1" */
        const char *close = memchr(part.at, ')', part.length);
        if (close == NULL)
            return false;
        part = trimmed(close + 1, part.at + part.length);
    }
    char *end = NULL;
    *value = strtod(part.at, &end);
    if (end > part.at)
        return true;
    bool is_true = part.length == 4 && memcmp(part.at, "true", 4) == 0;
    bool is_false = part.length == 5 && memcmp(part.at, "false", 5) == 0;
    *value = is_true ? 1 : st_kernel_type_bytes(part.at, part.length);
    return is_true || is_false || *value > 0;
}
