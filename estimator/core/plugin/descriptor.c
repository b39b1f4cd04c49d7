/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors are read as foreign data: no further than their own size says, every text and count
 * bounded, every unit and default tried. What is left is a copy that the host can rely on.
 */
#include "plugin/remote.h"
#include "plugin/module.h"

#include "base/memory.h"
#include "base/utf8.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* Sizes of the first ABI: what every plugin has. */
#define FIRST_SIZE(type, last) (offsetof(type, last) + sizeof(((type *)0)->last))

typedef struct describing {
    st_plugin_module *module;
    st_place place;
    st_arena *arena;
    st_errors *errors;
    st_status status;
    const char *where; /* "option 'eta'", "" for the plugin itself */
} describing;

st_status st_module_fail(const st_plugin_module *module, st_status status, st_place place,
                         const char *message, st_errors *errors)
{
    return st_fail(errors, status, place, "plugin %s cannot be used: %s", module->file, message);
}

ST_PRINTF(2, 3) static void fault(describing *reader, const char *format, ...)
{
    char message[1024];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    st_status status = st_module_fail(reader->module, ST_ERR_PROVIDER, reader->place,
                                      st_errors_text(reader->errors, "%s%s%s", reader->where,
                                                     reader->where[0] == '\0' ? "" : " ", message),
                                      reader->errors);
    st_note(&reader->status, status);
}

static void fault_memory(describing *reader)
{
    st_status status = st_out_of_memory(reader->errors);
    st_note(&reader->status, status);
}

bool st_plugin_is_name(const char *text)
{
    bool good = isalpha((unsigned char)text[0]) || text[0] == '_';
    for (const char *c = text; good && *c != '\0'; c++)
        good = isalnum((unsigned char)*c) || *c == '_';
    return good && strlen(text) <= 100;
}

/* A cell: a name, or a member of a family as "M[first,moe]". */
static bool is_cell(const char *text)
{
    char base[101];
    size_t length = strcspn(text, "[");
    if (length >= sizeof(base))
        return false;
    memcpy(base, text, length);
    base[length] = '\0';
    if (!st_plugin_is_name(base))
        return false;
    if (text[length] == '\0')
        return true;
    const char *index = text + length + 1;
    const char *end = index;
    while (isalnum((unsigned char)*end) || *end == '_' || *end == ',')
        end++;
    return end > index && strcmp(end, "]") == 0;
}

bool st_plugin_is_id(const char *text)
{
    bool good = islower((unsigned char)text[0]) != 0;
    for (const char *c = text; good && *c != '\0'; c++)
        good = islower((unsigned char)*c) || isdigit((unsigned char)*c) || *c == '-';
    return good && strlen(text) <= 64;
}

/* A key of a job, "cluster.gpus_per_node": names with dots between them. */
static bool is_key(const char *text)
{
    char part[101];
    while (*text != '\0') {
        size_t length = strcspn(text, ".");
        if (length == 0 || length >= sizeof(part))
            return false;
        memcpy(part, text, length);
        part[length] = '\0';
        if (!st_plugin_is_name(part))
            return false;
        text += length;
        if (*text == '.' && text[1] == '\0')
            return false;
        text += *text == '.' ? 1 : 0;
    }
    return true;
}

/* A copy of a plugin's text; "" and an error where it is none. */
static const char *copy_text(describing *reader, const char *what, const char *text, bool needed)
{
    if (text == NULL || text[0] == '\0') {
        if (needed)
            fault(reader, "has no %s", what);
        return "";
    }
    size_t length = strnlen(text, ST_PLUGIN_MAX_TEXT + 1);
    bool good = length <= ST_PLUGIN_MAX_TEXT;
    for (size_t i = 0; good && i < length;) {
        uint32_t code = 0;
        size_t size = st_utf8_decode(text + i, length - i, &code);
        good = size > 0 && !st_utf8_is_control(code);
        i += size;
    }
    if (!good) {
        fault(reader,
              "has a %s that is not a line of UTF-8 of at most %d "
              "bytes",
              what, ST_PLUGIN_MAX_TEXT);
        return "";
    }
    const char *copy = st_arena_copy(reader->arena, text, length);
    if (copy == NULL)
        fault_memory(reader);
    return copy == NULL ? "" : copy;
}

/* Copies a structure of the plugin by its own size; false where that is too small. */
static bool copy_struct(describing *reader, const char *what, const void *raw, void *copy,
                        size_t copy_bytes, size_t least_bytes)
{
    uint32_t size_bytes = 0;
    if (raw == NULL) {
        fault(reader, "has a %s that is NULL", what);
        return false;
    }
    memcpy(&size_bytes, raw, sizeof(size_bytes));
    if (size_bytes < least_bytes) {
        fault(reader, "has a %s of %u bytes; at least %zu are required", what, size_bytes,
              least_bytes);
        return false;
    }
    memset(copy, 0, copy_bytes);
    memcpy(copy, raw, size_bytes < copy_bytes ? size_bytes : copy_bytes);
    return true;
}

static st_unit copy_unit(describing *reader, const char *text)
{
    st_unit unit = st_unit_one();
    if (text[0] == '\0')
        return unit;
    if (st_unit_parse(text, strlen(text), (st_place){0}, &unit, NULL) != ST_OK)
        fault(reader, "has an unknown unit '%.60s'", text);
    return unit;
}

/* ---- options --------------------------------------------------------------------------------- */

static bool split_choices(describing *reader, st_module_option *option)
{
    const char *rest = option->shown.choices;
    option->choices =
        st_arena_alloc(reader->arena, ST_PLUGIN_MAX_CHOICES, sizeof(*option->choices));
    if (option->choices == NULL) {
        fault_memory(reader);
        return false;
    }
    for (;;) {
        rest += strspn(rest, " ");
        size_t length = strcspn(rest, " ");
        if (length == 0)
            break;
        if (option->choice_count == ST_PLUGIN_MAX_CHOICES) {
            fault(reader, "has too many choices");
            return false;
        }
        option->choices[option->choice_count++] = st_arena_copy(reader->arena, rest, length);
        rest += length;
    }
    if (option->choice_count == 0)
        fault(reader, "has no choices");
    return option->choice_count > 0;
}

static void copy_option(describing *reader, const st_plugin_option *raw, st_module_option *option)
{
    st_plugin_option *shown = &option->shown;
    if (!copy_struct(reader, "option", raw, shown, sizeof(*shown),
                     FIRST_SIZE(st_plugin_option, cite)))
        return;
    shown->name = copy_text(reader, "name of an option", shown->name, true);
    if (!st_plugin_is_name(shown->name)) {
        fault(reader, "has an option with an invalid name, '%.60s'", shown->name);
        return;
    }
    reader->where = st_errors_text(reader->errors, "option '%s'", shown->name);
    shown->unit = copy_text(reader, "unit", shown->unit, false);
    shown->choices =
        copy_text(reader, "list of choices", shown->choices, shown->kind == ST_PLUGIN_CHOICE);
    shown->default_text =
        copy_text(reader, "default", shown->default_text, shown->kind != ST_PLUGIN_TEXT);
    shown->doc = copy_text(reader, "line of documentation", shown->doc, true);
    shown->cite = copy_text(reader, "citation", shown->cite, false);
    option->unit = copy_unit(reader, shown->unit);
    bool usable = shown->kind <= ST_PLUGIN_TEXT;
    if (!usable)
        fault(reader, "has an unknown kind, %u", shown->kind);
    if (usable && shown->kind == ST_PLUGIN_NUMBER && !(shown->minimum <= shown->maximum)) {
        fault(reader, "has an empty range: its minimum exceeds its maximum");
        usable = false;
    }
    if (usable && shown->kind == ST_PLUGIN_CHOICE)
        usable = split_choices(reader, option);
    if (usable && reader->status == ST_OK) {
        st_errors *errors = st_errors_create();
        if (errors == NULL) {
            fault_memory(reader);
        } else {
            if (st_module_parse(option, option->shown.default_text, (st_place){0},
                                &option->default_number, errors) != ST_OK) {
                const st_error *first = st_errors_at(errors, 0);
                fault(reader, "has an invalid default '%.60s': %s", option->shown.default_text,
                      first != NULL ? first->message : "out of memory");
            }
            st_errors_destroy(errors);
        }
    }
    reader->where = "";
}

/* ---- providers ------------------------------------------------------------------------------- */

static void copy_arguments(describing *reader, st_module_provider *provider)
{
    st_plugin_provider *shown = &provider->shown;
    size_t count = shown->argument_count;
    if (count > ST_REMOTE_COLUMNS || (count > 0 && shown->arguments == NULL)) {
        fault(reader, "has %zu arguments; at most %d are supported", count, ST_REMOTE_COLUMNS);
        return;
    }
    const st_plugin_argument **pointers =
        st_arena_alloc(reader->arena, count + 1, sizeof(*pointers));
    provider->arguments = st_arena_alloc(reader->arena, count + 1, sizeof(*provider->arguments));
    provider->argument_units =
        st_arena_alloc(reader->arena, count + 1, sizeof(*provider->argument_units));
    if (pointers == NULL || provider->arguments == NULL || provider->argument_units == NULL) {
        fault_memory(reader);
        return;
    }
    for (size_t i = 0; i < count && reader->status == ST_OK; i++) {
        st_plugin_argument *argument = &provider->arguments[i];
        st_unit *unit = &provider->argument_units[i];
        if (copy_struct(reader, "argument", shown->arguments[i], argument, sizeof(*argument),
                        FIRST_SIZE(st_plugin_argument, doc))) {
            argument->name = copy_text(reader, "name of an argument", argument->name, true);
            argument->unit = copy_text(reader, "unit", argument->unit, false);
            argument->doc = copy_text(reader, "line of documentation", argument->doc, false);
            if (!is_cell(argument->name) && !is_key(argument->name))
                fault(reader, "has an argument with an invalid name, '%.60s'", argument->name);
            *unit = copy_unit(reader, argument->unit);
        }
        pointers[i] = &provider->arguments[i];
        for (size_t j = 0; j < i && reader->status == ST_OK; j++) {
            if (strcmp(pointers[i]->name, pointers[j]->name) == 0)
                fault(reader, "has argument '%s' twice", pointers[i]->name);
        }
    }
    shown->arguments = pointers;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void check_twice(describing *reader, const char *what, const char *name, const char *other)
{
    if (reader->status == ST_OK && strcmp(name, other) == 0)
        fault(reader, "has %s '%s' twice", what, name);
}

static void copy_providers(describing *reader)
{
    st_plugin *shown = &reader->module->shown;
    size_t count = shown->provider_count;
    const st_plugin_provider **pointers =
        st_arena_alloc(reader->arena, count + 1, sizeof(*pointers));
    reader->module->providers =
        st_arena_alloc(reader->arena, count + 1, sizeof(*reader->module->providers));
    if (pointers == NULL || reader->module->providers == NULL) {
        fault_memory(reader);
        return;
    }
    for (size_t i = 0; i < count && reader->status == ST_OK; i++) {
        st_module_provider *provider = &reader->module->providers[i];
        st_plugin_provider *provider_shown = &provider->shown;
        if (copy_struct(reader, "provider", shown->providers[i], provider_shown,
                        sizeof(*provider_shown), FIRST_SIZE(st_plugin_provider, explain))) {
            provider_shown->name =
                copy_text(reader, "name of a provider", provider_shown->name, true);
            if (!is_cell(provider_shown->name)) {
                fault(reader, "has a provider with an invalid name, '%.60s'", provider_shown->name);
            } else {
                reader->where =
                    st_errors_text(reader->errors, "provider '%s'", provider_shown->name);
                provider_shown->unit = copy_text(reader, "unit", provider_shown->unit, false);
                provider_shown->doc =
                    copy_text(reader, "line of documentation", provider_shown->doc, true);
                provider_shown->cite = copy_text(reader, "citation", provider_shown->cite, false);
                provider->unit = copy_unit(reader, provider_shown->unit);
                copy_arguments(reader, provider);
                if (provider_shown->evaluate == NULL)
                    fault(reader, "has no 'evaluate' function");
                reader->where = "";
            }
        }
        pointers[i] = &reader->module->providers[i].shown;
        for (size_t j = 0; j < i; j++)
            check_twice(reader, "provider", pointers[i]->name, pointers[j]->name);
    }
    shown->providers = pointers;
}

static void copy_schedules(describing *reader)
{
    st_plugin *shown = &reader->module->shown;
    size_t count = shown->schedule_count;
    const st_plugin_schedule **pointers =
        st_arena_alloc(reader->arena, count + 1, sizeof(*pointers));
    st_plugin_schedule *copies = st_arena_alloc(reader->arena, count + 1, sizeof(*copies));
    if (pointers == NULL || copies == NULL) {
        fault_memory(reader);
        return;
    }
    for (size_t i = 0; i < count && reader->status == ST_OK; i++) {
        st_plugin_schedule *schedule_shown = &copies[i];
        if (copy_struct(reader, "schedule", shown->schedules[i], schedule_shown,
                        sizeof(*schedule_shown), FIRST_SIZE(st_plugin_schedule, order))) {
            schedule_shown->name =
                copy_text(reader, "name of a schedule", schedule_shown->name, true);
            if (!st_plugin_is_name(schedule_shown->name)) {
                fault(reader, "has a schedule with an invalid name, '%.60s'", schedule_shown->name);
            } else {
                reader->where =
                    st_errors_text(reader->errors, "schedule '%s'", schedule_shown->name);
                schedule_shown->doc =
                    copy_text(reader, "line of documentation", schedule_shown->doc, true);
                schedule_shown->cite = copy_text(reader, "citation", schedule_shown->cite, false);
                if (schedule_shown->order == NULL)
                    fault(reader, "has no 'order' function");
                reader->where = "";
            }
        }
        pointers[i] = &copies[i];
        for (size_t j = 0; j < i; j++)
            check_twice(reader, "schedule", pointers[i]->name, pointers[j]->name);
    }
    shown->schedules = pointers;
}

static bool is_version(const char *text)
{
    size_t length = strlen(text);
    return length <= 40 && isdigit((unsigned char)text[0]) && strchr(text, ' ') == NULL;
}

static void copy_facts(describing *reader)
{
    st_plugin *shown = &reader->module->shown;
    shown->id = copy_text(reader, "id", shown->id, true);
    shown->version = copy_text(reader, "version", shown->version, true);
    shown->licence = copy_text(reader, "licence", shown->licence, true);
    shown->summary = copy_text(reader, "summary", shown->summary, true);
    if (reader->status == ST_OK && !st_plugin_is_id(shown->id))
        fault(reader, "has an invalid id, '%.60s'", shown->id);
    if (reader->status == ST_OK && !is_version(shown->version))
        fault(reader, "has an invalid version, '%.60s'", shown->version);
    if (shown->option_count > ST_PLUGIN_MAX_OPTIONS ||
        (shown->option_count > 0 && shown->options == NULL))
        fault(reader, "has %zu options; at most %d are supported", shown->option_count,
              ST_PLUGIN_MAX_OPTIONS);
    if (shown->provider_count > ST_PLUGIN_MAX_PROVIDERS ||
        shown->provider_count + shown->schedule_count == 0 ||
        (shown->provider_count > 0 && shown->providers == NULL))
        fault(reader, "has %zu providers; 1 to %d are supported", shown->provider_count,
              ST_PLUGIN_MAX_PROVIDERS);
    if (shown->schedule_count > ST_PLUGIN_MAX_SCHEDULES ||
        (shown->schedule_count > 0 && shown->schedules == NULL))
        fault(reader, "has %zu schedules; at most %d are supported", shown->schedule_count,
              ST_PLUGIN_MAX_SCHEDULES);
}

st_status st_module_describe(st_plugin_module *module, const st_plugin *raw, st_place place,
                             st_arena *arena, st_errors *errors)
{
    describing reader = {
        .module = module, .place = place, .arena = arena, .errors = errors, .where = ""};
    if (raw == NULL) {
        fault(&reader, ST_PLUGIN_SYMBOL " returns no descriptor");
        return reader.status;
    }
    /* The number and the size come first in every ABI, and nothing else is read before they fit. */
    uint32_t head[2];
    memcpy(head, raw, sizeof(head));
    size_t least = FIRST_SIZE(st_plugin, close);
    if (head[0] < sizeof(head))
        fault(&reader, "its descriptor claims a size of %u bytes", head[0]);
    else if (head[1] == 0 || head[1] > ST_PLUGIN_ABI)
        fault(&reader, "it uses plugin ABI %u; this steptime supports 1%s", head[1],
              ST_PLUGIN_ABI > 1 ? " and later ones" : "");
    else if (head[0] < least)
        fault(&reader, "its descriptor has %u bytes; at least %zu are required", head[0], least);
    if (reader.status != ST_OK || !copy_struct(&reader, "descriptor", raw, &module->shown,
                                               sizeof(module->shown), FIRST_SIZE(st_plugin, close)))
        return reader.status;
    copy_facts(&reader);
    if (reader.status == ST_OK) {
        st_plugin *shown = &reader.module->shown;
        size_t count = shown->option_count;
        const st_plugin_option **pointers =
            st_arena_alloc(reader.arena, count + 1, sizeof(*pointers));
        reader.module->options =
            st_arena_alloc(reader.arena, count + 1, sizeof(*reader.module->options));
        if (pointers == NULL || reader.module->options == NULL) {
            fault_memory(&reader);
        } else {
            for (size_t i = 0; i < count && reader.status == ST_OK; i++) {
                copy_option(&reader, shown->options[i], &reader.module->options[i]);
                pointers[i] = &reader.module->options[i].shown;
                for (size_t j = 0; j < i; j++)
                    check_twice(&reader, "option", pointers[i]->name, pointers[j]->name);
            }
            shown->options = pointers;
        }
    }
    if (reader.status == ST_OK)
        copy_providers(&reader);
    if (reader.status == ST_OK)
        copy_schedules(&reader);
    return reader.status;
}
