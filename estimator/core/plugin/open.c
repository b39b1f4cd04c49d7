/* SPDX-License-Identifier: Apache-2.0 */
/* Settings and opening: what users write becomes numbers within the limits of the descriptor. */
#include "plugin/module.h"

#include "base/error_scope.h"
#include "base/text.h"
#include "job/files.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WARNINGS_BYTES = 4096 };

/* ---- values of options ----------------------------------------------------------------------- */

st_status st_module_parse(const st_module_option *option, const char *text, st_place place,
                          double *number, st_errors *errors)
{
    switch (option->shown.kind) {
    case ST_PLUGIN_NUMBER: {
        /* The error of a number, with the name of the option before it. */
        st_error_scope named = {st_error_name,
                                st_errors_text(errors, "option '%s'", option->shown.name), NULL};
        st_errors_enter(errors, &named);
        st_status status =
            st_quantity_parse(text, strlen(text), &option->unit, place, number, errors);
        st_errors_leave(errors, &named);
        return status == ST_OK ? st_module_check_range(option, *number, place, errors) : status;
    }
    case ST_PLUGIN_CHOICE: {
        size_t i = st_text_at(option->choices, option->choice_count, text);
        if (i < option->choice_count) {
            *number = (double)i;
            return ST_OK;
        }
        return st_fail(errors, ST_ERR_VALUE, place,
                       "invalid value of option '%s'" ST_FOUND "'%.80s'" ST_EXPECTED
                       "one of %s" ST_HINT "%s",
                       option->shown.name, text, option->shown.choices,
                       st_errors_nearest(errors, text, option->choices, option->choice_count));
    }
    default:
        *number = 0;
        return ST_OK;
    }
}

st_status st_module_check_range(const st_module_option *option, double number, st_place place,
                                st_errors *errors)
{
    char least[ST_QUANTITY_TEXT];
    char most[ST_QUANTITY_TEXT];
    char found[ST_QUANTITY_TEXT];
    const st_plugin_option *shown = &option->shown;
    if (shown->kind != ST_PLUGIN_NUMBER ||
        (number >= shown->minimum && number <= shown->maximum && isfinite(number)))
        return ST_OK;
    return st_fail(
        errors, ST_ERR_VALUE, place,
        "option '%s' is out of range" ST_FOUND "%s" ST_EXPECTED "%s to %s", shown->name,
        st_quantity_format(number, &option->unit, ST_STYLE_UNIT, found, sizeof(found)),
        st_quantity_format(shown->minimum, &option->unit, ST_STYLE_UNIT, least, sizeof(least)),
        st_quantity_format(shown->maximum, &option->unit, ST_STYLE_UNIT, most, sizeof(most)));
}

static st_status read_setting(st_plugin_instance *instance, const st_plugin_given *given,
                              st_errors *errors)
{
    const st_plugin_module *module = instance->module;
    size_t index = st_plugin_find_option(module, given->name);
    if (index == SIZE_MAX) {
        size_t count = module->shown.option_count;
        const char **names = st_arena_alloc(instance->arena, count + 1, sizeof(*names));
        for (size_t i = 0; names != NULL && i < count; i++)
            names[i] = module->shown.options[i]->name;
        const char *nearest = names == NULL ? NULL : st_nearest(given->name, names, count);
        return st_fail(errors, ST_ERR_NAME, given->name_place,
                       "plugin '%s' has no option '%.80s'" ST_EXPECTED "%s" ST_HINT "%s",
                       module->shown.id, given->name, nearest == NULL && count == 0 ? "none" : "",
                       st_or_none(nearest));
    }
    const st_module_option *option = &module->options[index];
    st_plugin_setting *setting = &instance->settings[index];
    setting->given = 1;
    if (given->text == NULL) {
        bool usable =
            option->shown.kind == ST_PLUGIN_NUMBER ||
            (option->shown.kind == ST_PLUGIN_CHOICE && given->number >= 0 &&
             given->number < (double)option->choice_count && given->number == floor(given->number));
        if (!usable)
            return st_fail(errors, ST_ERR_VALUE, given->place, "invalid number for option '%s'",
                           option->shown.name);
        st_status status = st_module_check_range(option, given->number, given->place, errors);
        if (status == ST_OK) {
            setting->number = given->number;
            /* The text of a number that a program gave. */
            const double number = given->number;
            char text[ST_QUANTITY_TEXT];
            if (option->shown.kind == ST_PLUGIN_CHOICE) {
                setting->text = option->choices[(size_t)number];
            } else {
                st_quantity_format(number, &option->unit, ST_STYLE_EXACT, text, sizeof(text));
                setting->text = st_arena_copy(instance->arena, text, strlen(text));
            }
            status = setting->text == NULL ? st_out_of_memory(errors) : ST_OK;
        }
        return status;
    }
    setting->text = st_arena_copy(instance->arena, given->text, strlen(given->text));
    if (setting->text == NULL)
        return st_out_of_memory(errors);
    return st_module_parse(option, given->text, given->place, &setting->number, errors);
}

static st_status read_settings(st_plugin_instance *instance, const st_plugin_given *given,
                               size_t count, st_errors *errors)
{
    const st_plugin_module *module = instance->module;
    size_t option_count = module->shown.option_count;
    instance->settings =
        st_arena_alloc(instance->arena, option_count + 1, sizeof(*instance->settings));
    instance->setting_pointers =
        st_arena_alloc(instance->arena, option_count + 1, sizeof(*instance->setting_pointers));
    if (instance->settings == NULL || instance->setting_pointers == NULL)
        return st_out_of_memory(errors);
    for (size_t i = 0; i < option_count; i++) {
        const st_module_option *option = &module->options[i];
        instance->settings[i] = (st_plugin_setting){.name = option->shown.name,
                                                    .number = option->default_number,
                                                    .text = option->shown.default_text};
        instance->setting_pointers[i] = &instance->settings[i];
    }
    st_status status = ST_OK;
    for (size_t i = 0; i < count; i++)
        st_note(&status, read_setting(instance, &given[i], errors));
    return status;
}

/* ---- what the host lends --------------------------------------------------------------------- */

static void host_log(void *context, int level, const char *message)
{
    st_plugin_instance *instance = context;
    if (level < ST_PLUGIN_LOG_WARNING || message == NULL)
        return;
    (void)pthread_mutex_lock(&instance->lock);
    size_t length = strnlen(message, ST_PLUGIN_MAX_TEXT);
    if (instance->warnings.length + length < MAX_WARNINGS_BYTES) {
        st_buffer_append(&instance->warnings, message,
                         strcspn(message, "\n") < length ? strcspn(message, "\n") : length);
        st_buffer_text(&instance->warnings, "\n");
    }
    (void)pthread_mutex_unlock(&instance->lock);
}

static void host_error(void *context, const char *message)
{
    st_plugin_instance *instance = context;
    (void)pthread_mutex_lock(&instance->lock);
    if (!instance->has_error && message != NULL) {
        size_t length = strnlen(message, sizeof(instance->error) - 1);
        memcpy(instance->error, message, length);
        instance->error[length] = '\0';
        instance->error[strcspn(instance->error, "\n")] = '\0';
        instance->has_error = true;
    }
    (void)pthread_mutex_unlock(&instance->lock);
}

static void *host_allocate(void *context, size_t size_bytes)
{
    (void)context;
    return malloc(size_bytes > 0 ? size_bytes : 1);
}

static void host_release(void *context, void *memory)
{
    (void)context;
    free(memory);
}

void st_instance_clear_error(const st_plugin_instance *instance)
{
    st_plugin_instance *writable = instance->host.context;
    (void)pthread_mutex_lock(&writable->lock);
    writable->has_error = false;
    writable->error[0] = '\0';
    (void)pthread_mutex_unlock(&writable->lock);
}

const char *st_instance_error(const st_plugin_instance *instance, st_arena *arena)
{
    st_plugin_instance *writable = instance->host.context;
    (void)pthread_mutex_lock(&writable->lock);
    const char *text =
        writable->has_error ? st_arena_copy(arena, writable->error, strlen(writable->error)) : NULL;
    (void)pthread_mutex_unlock(&writable->lock);
    return text;
}

void st_plugin_take_warnings(const st_plugin_instance *instance, st_place place, st_errors *errors)
{
    st_plugin_instance *writable = instance->host.context;
    (void)pthread_mutex_lock(&writable->lock);
    const char *rest = writable->warnings.data == NULL ? "" : writable->warnings.data;
    while (*rest != '\0') {
        size_t length = strcspn(rest, "\n");
        st_report(errors, ST_SEVERITY_WARNING, ST_ERR_PROVIDER, place, "plugin '%s': %.*s",
                  writable->module->shown.id, (int)length, rest);
        rest += length + (rest[length] == '\n' ? 1 : 0);
    }
    st_buffer_free(&writable->warnings);
    writable->warnings = (st_buffer){0};
    (void)pthread_mutex_unlock(&writable->lock);
}

/* ---- opening and closing --------------------------------------------------------------------- */

static st_status call_open(st_plugin_instance *instance, st_place place, st_errors *errors)
{
    const st_plugin *shown = &instance->module->shown;
    st_guard guard;
    st_guard_remember();
    st_guard_begin(&guard, instance->module->who, "open", true);
    int result =
        shown->open == NULL ? ST_PLUGIN_OK : shown->open(&instance->host, &instance->instance);
    st_guard_end(&guard);
    st_plugin_take_warnings(instance, place, errors);
    if (result == ST_PLUGIN_OK) {
        instance->is_open = true;
        return ST_OK;
    }
    return st_fail(errors, ST_ERR_PROVIDER, place, "plugin '%s' cannot be opened: %s", shown->id,
                   instance->has_error ? instance->error : "no reason given");
}

st_status st_plugin_read_options(const char *const *texts, size_t count, st_arena *arena,
                                 st_plugin_given *given, st_errors *errors)
{
    const st_place place = {.file = "--option"};
    for (size_t i = 0; i < count; i++) {
        st_assignment read;
        if (!st_assignment_read(texts[i], arena, &read))
            return ST_ERR_MEMORY;
        if (read.value == NULL || read.key[0] == '\0')
            return st_fail(errors, ST_ERR_USAGE, (st_place){0},
                           "invalid option '%s'" ST_HINT "use --option NAME=VALUE", texts[i]);
        given[i] = (st_plugin_given){
            .name = read.key, .text = read.value, .name_place = place, .place = place};
    }
    return ST_OK;
}

st_status st_plugin_open(const st_plugin_module *module, const st_plugin_given *given, size_t count,
                         st_place place, st_plugin_instance **instance, st_errors *errors)
{
    st_plugin_instance *opened = calloc(1, sizeof(*opened));
    if (opened == NULL)
        return st_out_of_memory(errors);
    if (pthread_mutex_init(&opened->lock, NULL) != 0) {
        free(opened);
        return st_out_of_memory(errors);
    }
    opened->module = module;
    opened->host.context = opened;
    opened->arena = st_arena_create();
    st_status status = opened->arena == NULL ? st_out_of_memory(errors)
                                             : read_settings(opened, given, count, errors);
    /* Also of a plugin in another process, whose errors and warnings are passed on by it. */
    opened->host = (st_plugin_host){.struct_size = sizeof(st_plugin_host),
                                    .abi = ST_PLUGIN_ABI,
                                    .context = opened,
                                    .log = host_log,
                                    .error = host_error,
                                    .allocate = host_allocate,
                                    .release = host_release,
                                    .directory = opened->module->folder,
                                    .settings = opened->setting_pointers,
                                    .setting_count = opened->module->shown.option_count};
    if (status == ST_OK)
        status = module->start != NULL ? module->start(opened, given, count, place, errors)
                                       : call_open(opened, place, errors);
    if (status == ST_OK)
        *instance = opened;
    else
        st_plugin_close(opened);
    return status;
}

void st_plugin_close(st_plugin_instance *instance)
{
    if (instance == NULL)
        return;
    if (instance->is_open && instance->module->shown.close != NULL) {
        st_guard guard;
        st_guard_begin(&guard, instance->module->who, "close", true);
        instance->module->shown.close(instance->instance);
        st_guard_end(&guard);
    }
    st_remote_stop(instance->remote);
    st_buffer_free(&instance->warnings);
    st_arena_destroy(instance->arena);
    (void)pthread_mutex_destroy(&instance->lock);
    free(instance);
}

size_t st_plugin_find_option(const st_plugin_module *module, const char *name)
{
    for (size_t i = 0; i < module->shown.option_count; i++)
        if (strcmp(module->shown.options[i]->name, name) == 0)
            return i;
    return SIZE_MAX;
}
