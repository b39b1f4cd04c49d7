/* SPDX-License-Identifier: Apache-2.0 */
/* Values of a job as settings, and tables that lead from one to the other; see settings.h. */
#include "launch/frameworks/settings.h"

#include "base/word_sets.h"
#include "steptime/keys.h"
#include "steptime/tool/value_text.h"
#include "steptime/quantity.h"

#include <math.h>
#include <string.h>

bool fw_has(const st_job *job, const char *key)
{
    const st_job_value *value = st_job_value_of(job, key);
    return value != NULL && value->origin != ST_ORIGIN_NONE;
}

const char *fw_text_of(st_draft *draft, const st_key *key, double number, const char *text)
{
    char storage[ST_VALUES_TEXT];
    char digits[64];
    const char *names[ST_VALUES_MAX];
    if (key->kind == ST_KEY_TEXT || key->kind == ST_KEY_QUANTITY)
        return text;
    if (key->kind == ST_KEY_BOOL)
        return number != 0 ? "true" : "false";
    if (key->kind != ST_KEY_ENUM && number >= 1e5 && number == floor(number))
        return st_draft_text(draft, "%.0f", number); /* whole numbers without an exponent */
    if (key->kind != ST_KEY_ENUM)
        return st_draft_text(draft, "%s", st_number_format(number, digits, sizeof digits));
    size_t count = st_key_values(key, storage, names);
    return number >= 0 && number < (double)count ? st_draft_text(draft, "%s", names[(size_t)number])
                                                 : text;
}

const char *fw_text(st_draft *draft, const st_job *job, const char *key)
{
    const st_job_value *value = st_job_value_of(job, key);
    return fw_has(job, key) ? fw_text_of(draft, st_key_find(key), value->number, value->text) : "";
}

bool fw_is(const st_job *job, const char *key, const char *word)
{
    char storage[ST_VALUES_TEXT];
    const char *names[ST_VALUES_MAX];
    const st_key *row = st_key_find(key);
    const double number = st_job_number(job, key);
    if (!fw_has(job, key))
        return false;
    if (strcmp(word, "=") == 0)
        return true;
    if (strcmp(word, "*") == 0)
        return row->kind == ST_KEY_TEXT ? st_job_value_of(job, key)->text[0] != '\0' : number > 0;
    if (row->kind == ST_KEY_BOOL)
        return (number != 0) == (strcmp(word, "true") == 0);
    if (row->kind == ST_KEY_TEXT)
        return strcmp(st_job_value_of(job, key)->text, word) == 0;
    if (row->kind != ST_KEY_ENUM) {
        char digits[64];
        return strcmp(st_number_format(number, digits, sizeof digits), word) == 0;
    }
    size_t count = st_key_values(row, storage, names);
    return (size_t)number < count && strcmp(names[(size_t)number], word) == 0;
}

double fw_number_in_job(const void *job, const char *key)
{
    return st_job_number(job, key);
}

double fw_meaning(fw_number number_in, const void *of, const char *key, double number)
{
    static const struct {
        const char *key;
        const char *other;
        double times;
    } zeros[] = {
        {ST_KEY_MODEL_KV_HEADS, ST_KEY_MODEL_HEADS, 1},
        {ST_KEY_MODEL_FFN, ST_KEY_MODEL_HIDDEN, 4},
        {ST_KEY_MODEL_V_DIM, ST_KEY_MODEL_HEAD_DIM, 1},
        {ST_KEY_MODEL_EXPERT_FFN, ST_KEY_MODEL_FFN, 1},
        {ST_KEY_PARALLEL_EXPERT_TP, ST_KEY_PARALLEL_TP, 1},
    };
    const size_t i = ST_FIND(zeros, ST_COUNT(zeros), key, key);
    if (number == 0 && strcmp(key, ST_KEY_MODEL_HEAD_DIM) == 0)
        return number_in(of, ST_KEY_MODEL_HIDDEN) / fmax(1, number_in(of, ST_KEY_MODEL_HEADS));
    if (number != 0 || i == SIZE_MAX)
        return number;
    return zeros[i].times *
           fw_meaning(number_in, of, zeros[i].other, number_in(of, zeros[i].other));
}

/* ---- rows ---- */

void fw_write_rows(megatron_run *settings, const st_job *job, const fw_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (fw_is(job, rows[i].key, rows[i].when))
            megatron_set(settings, rows[i].option,
                         rows[i].value != NULL ? rows[i].value
                                               : fw_text(settings->draft, job, rows[i].key),
                         0);
}

void fw_read_rows(megatron_run *settings, const fw_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const megatron_argument *option = megatron_get(settings, rows[i].option);
        bool is_any = strcmp(rows[i].when, "*") == 0 || strcmp(rows[i].when, "=") == 0;
        if (option == NULL || rows[i].key[0] == '\0' ||
            (rows[i].value != NULL && strcmp(option->value, rows[i].value) != 0))
            continue;
        st_draft_put(settings->draft, rows[i].key, option->line,
                     is_any ? option->value : rows[i].when,
                     option->line > 0 || settings->is_export
                         ? rows[i].option
                         : st_draft_text(settings->draft, "default of %s", rows[i].option));
    }
}

/* ---- other names of the same arguments ---- */

static bool fits(const char *wanted, const char *value)
{
    return wanted == NULL || strcmp(wanted, value) == 0;
}

void fw_rename_arguments(st_framework framework, megatron_run *arguments, megatron_run *options)
{
    const fw_names *names = fw_names_of(framework);
    for (size_t i = 0; i < arguments->count; i++) {
        const megatron_argument *argument = &arguments->arguments[i];
        for (const fw_section *in = names->sections; in->prefix != NULL; in++)
            if (st_has_word(in->arguments, argument->name))
                megatron_set(options,
                             st_draft_text(options->draft, "%s%s", in->prefix, argument->name),
                             argument->value, argument->line);
        for (size_t j = 0; j < names->row_count; j++) {
            const fw_rename *row = &names->rows[j];
            if (row->way != FW_IMPORT && strcmp(row->argument, argument->name) == 0 &&
                fits(row->argument_value, argument->value))
                megatron_set(options, row->option,
                             row->option_value != NULL ? row->option_value : argument->value,
                             argument->line);
        }
    }
}

void fw_restore_arguments(st_framework framework, megatron_run *options, megatron_run *arguments)
{
    const fw_names *names = fw_names_of(framework);
    for (size_t i = 0; i < options->count; i++) {
        const megatron_argument *option = &options->arguments[i];
        bool known = false;
        for (const fw_section *in = names->sections; in->prefix != NULL; in++) {
            size_t length = strlen(in->prefix);
            if (strncmp(option->name, in->prefix, length) != 0 ||
                !st_has_word(in->arguments, option->name + length))
                continue;
            known = true;
            megatron_set(arguments, option->name + length, option->value, option->line);
        }
        for (size_t j = 0; j < names->row_count; j++) {
            const fw_rename *row = &names->rows[j];
            if (strcmp(row->option, option->name) != 0)
                continue;
            known = true;
            if (row->way != FW_EXPORT && fits(row->option_value, option->value))
                megatron_set(arguments, row->argument,
                             row->argument_value != NULL ? row->argument_value : option->value,
                             option->line);
        }
        if (!known) /* an argument of Megatron that needs no other name */
            megatron_set(arguments,
                         strncmp(option->name, "launch.", 7) == 0 ? option->name + 7 : option->name,
                         option->value, option->line);
    }
    /* Megatron-DeepSpeed computes scores unfused by default. */
    if (framework == ST_DEEPSPEED && megatron_is_given(arguments, "num_layers") &&
        !megatron_is_given(arguments, "attention_backend"))
        megatron_set(arguments, "attention_backend", "unfused", 0);
    if (framework == ST_DEEPSPEED) /* and has one way to send tokens to experts */
        megatron_set(arguments, "moe_token_dispatcher_type", "alltoall", 0);
}
