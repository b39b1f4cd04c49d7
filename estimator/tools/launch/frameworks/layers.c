/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers by kind as arguments of Megatron-LM, and whether two ways to write them say the same: a
 * pattern, or dense layers first and one layer with experts in so many.
 */
#include "launch/frameworks/settings.h"

#include "base/lists.h"
#include "steptime/keys.h"
#include "steptime/tool/job_keys.h"
#include "steptime/tool/pattern.h"
#include "steptime/tool/value_text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- letters ---- */

const char *fw_letters_of(const fw_layer_words *words, st_arena *arena)
{
    st_pattern pattern = {0};
    size_t layers =
        words->layers > 0 && words->layers <= ST_PATTERN_LAYERS ? (size_t)words->layers : 0;
    char *letters = st_arena_alloc(arena, layers + 1, sizeof *letters);
    bool has_pattern = words->pattern != NULL && words->pattern[0] != '\0';
    if (letters == NULL ||
        (has_pattern && st_pattern_read(words->pattern, words->layers, (st_place){0}, arena,
                                        &pattern, NULL) != ST_OK))
        return NULL;
    const size_t dense = (size_t)words->dense;
    const size_t every = words->every > 1 ? (size_t)words->every : 1;
    for (size_t i = 0; i < layers; i++)
        if (has_pattern)
            letters[i] = st_layer_letter((st_layer_kind)pattern.kinds[i]);
        else
            letters[i] =
                words->experts > 0 && i >= dense && (i - dense + 1) % every == 0 ? 'e' : 'd';
    return letters;
}

static const char *pattern_of(const st_job *job)
{
    const st_job_value *value = st_job_value_of(job, ST_KEY_MODEL_PATTERN);
    return fw_has(job, ST_KEY_MODEL_PATTERN) ? value->text : NULL;
}

const char *fw_layer_letters(const st_job *job, st_arena *arena)
{
    return fw_letters_of(&(fw_layer_words){.pattern = pattern_of(job),
                                           .layers = st_job_number(job, ST_KEY_MODEL_LAYERS),
                                           .experts = st_job_number(job, ST_KEY_MODEL_EXPERTS),
                                           .dense = st_job_number(job, ST_KEY_MODEL_DENSE_LAYERS),
                                           .every = st_job_number(job, ST_KEY_MODEL_MOE_EVERY)},
                         arena);
}

bool fw_same_layers(const st_job *job, const st_draft *draft)
{
    const char *wanted = fw_layer_letters(job, draft->arena);
    const char *back = fw_letters_of(
        &(fw_layer_words){.pattern =
                              draft->values[st_key_index(st_key_find(ST_KEY_MODEL_PATTERN))].text,
                          .layers = (double)st_draft_count(draft, ST_KEY_MODEL_LAYERS),
                          .experts = (double)st_draft_count(draft, ST_KEY_MODEL_EXPERTS),
                          .dense = (double)st_draft_count(draft, ST_KEY_MODEL_DENSE_LAYERS),
                          .every = (double)st_draft_count(draft, ST_KEY_MODEL_MOE_EVERY)},
        draft->arena);
    return wanted != NULL && back != NULL && strcmp(wanted, back) == 0;
}

/* ---- arguments ---- */

/* "[0]*3+[1]*58" for Megatron's command line, all members for what reads YAML. */
static const char *flag_list(st_framework framework, const char *letters, const char *of,
                             st_draft *draft)
{
    st_buffer list = {0};
    size_t count = strlen(letters);
    for (size_t i = 0; i < count;) {
        size_t run = 1;
        bool flag = strchr(of, letters[i]) != NULL;
        while (framework == ST_MEGATRON && i + run < count &&
               (strchr(of, letters[i + run]) != NULL) == flag)
            run++;
        if (framework == ST_MEGATRON)
            st_buffer_printf(&list, "%s[%d]*%zu", i > 0 ? "+" : "", flag ? 1 : 0, run);
        else
            st_buffer_printf(&list, "%s%d", i > 0 ? ", " : "[", flag ? 1 : 0);
        i += run;
    }
    if (framework != ST_MEGATRON)
        st_buffer_text(&list, "]");
    return st_draft_keep(draft, &list);
}

void fw_put_layers(st_framework framework, const st_job *job, megatron_run *arguments)
{
    static const fw_row sparse[] = {
        {ST_KEY_MODEL_INDEX_HEADS, "*", "experimental_attention_variant", "dsa"},
        {ST_KEY_MODEL_INDEX_HEADS, "*", "dsa_indexer_n_heads", NULL},
        {ST_KEY_MODEL_INDEX_DIM, "*", "dsa_indexer_head_dim", NULL},
        {ST_KEY_MODEL_INDEX_TOP_K, "*", "dsa_indexer_topk", NULL},
    };
    const uint64_t every = (uint64_t)st_job_number(job, ST_KEY_MODEL_MOE_EVERY);
    const char *letters = fw_layer_letters(job, arguments->draft->arena);
    if (letters == NULL)
        return; /* a pattern that cannot be read comes back as none, and is refused */
    if (strpbrk(letters, "M*-E") != NULL) {
        static const fw_row rows[] = {
            {ST_KEY_MODEL_MAMBA_HEADS, "*", "mamba_num_heads", NULL},
            {ST_KEY_MODEL_MAMBA_HEAD_DIM, "*", "mamba_head_dim", NULL},
            {ST_KEY_MODEL_MAMBA_STATE, "*", "mamba_state_dim", NULL},
            {ST_KEY_MODEL_MAMBA_GROUPS, "*", "mamba_num_groups", NULL},
        };
        megatron_set(arguments, "is_hybrid_model", "True", 0);
        /* Recipes of Megatron-Bridge set the new name, with which the old one is an error. */
        megatron_set(arguments,
                     framework == ST_MEGATRON_BRIDGE ? "hybrid_layer_pattern"
                                                     : "hybrid_override_pattern",
                     letters, 0);
        if (st_job_number(job, ST_KEY_MODEL_MTP) > 0)
            megatron_set(arguments, "mtp_hybrid_override_pattern",
                         strchr(letters, 'E') != NULL ? "*E" : "*-", 0);
        if (st_job_number(job, ST_KEY_MODEL_MAMBA_HEADS) > 0)
            fw_write_rows(arguments, job, rows, ST_COUNT(rows));
    } else if (pattern_of(job) == NULL && st_job_number(job, ST_KEY_MODEL_EXPERTS) > 0 &&
               st_job_number(job, ST_KEY_MODEL_DENSE_LAYERS) == 0 && every > 1) {
        megatron_set(arguments, "moe_layer_freq",
                     st_draft_text(arguments->draft, "%" PRIu64, every), 0);
    } else {
        static const fw_row rows[] = {
            {ST_KEY_MODEL_DELTA_K_HEADS, "*", "linear_num_key_heads", NULL},
            {ST_KEY_MODEL_DELTA_V_HEADS, "*", "linear_num_value_heads", NULL},
            {ST_KEY_MODEL_DELTA_K_DIM, "*", "linear_key_head_dim", NULL},
            {ST_KEY_MODEL_DELTA_V_DIM, "*", "linear_value_head_dim", NULL},
        };
        st_draft *draft = arguments->draft;
        if (strpbrk(letters, "xy") != NULL) {
            /* Megatron counts the tokens to the left, without the token itself. */
            megatron_set(arguments, "window_size",
                         st_draft_text(draft, "%.0f,0",
                                       fmax(0, st_job_number(job, ST_KEY_MODEL_WINDOW) - 1)),
                         0);
            if (strspn(letters, "xy") < strlen(letters))
                megatron_set(arguments, "window_attn_skip_freq",
                             flag_list(framework, letters, "xy", draft), 0);
        }
        if (strpbrk(letters, "gh") != NULL) {
            megatron_set(arguments, "experimental_attention_variant", "gated_delta_net", 0);
            megatron_set(arguments, "linear_attention_freq",
                         flag_list(framework, letters, "gh", draft), 0);
            fw_write_rows(arguments, job, rows, ST_COUNT(rows));
        }
        if (strpbrk(letters, "eyh") != NULL && strspn(letters, "eyh") < strlen(letters))
            megatron_set(arguments, "moe_layer_freq", flag_list(framework, letters, "eyh", draft),
                         0);
    }
    if (st_job_number(job, ST_KEY_MODEL_O_LORA) == 0)
        fw_write_rows(arguments, job, sparse, ST_COUNT(sparse));
}
