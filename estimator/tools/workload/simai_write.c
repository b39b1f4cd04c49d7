/* SPDX-License-Identifier: Apache-2.0 */
/* SimAI's text of a workload, and what its rows add up to. */
#include "workload/simai.h"

#include "workload/simai_words.h"

const char *const st_simai_kind_words[ST_SIMAI_KINDS] = {"NONE", "ALLREDUCE", "ALLGATHER",
                                                         "REDUCESCATTER", "ALLTOALL"};
const char *const st_simai_size_words[ST_SIMAI_SIZES] = {
    "model_parallel_NPU_group:", "ep:", "pp:", "vpp:", "ga:", "all_gpus:"};

void st_simai_write(const st_simai *simai, st_buffer *buffer)
{
    st_buffer_printf(buffer, "%s", ST_SIMAI_POLICY);
    for (int i = 0; i < ST_SIMAI_SIZES; i++)
        st_buffer_printf(buffer, " %s %llu", st_simai_size_words[i],
                         (unsigned long long)simai->size[i]);
    st_buffer_printf(buffer, " checkpoints: 0 checkpoint_initiates: 0 pp_comm: %llu\n%zu\n",
                     (unsigned long long)simai->pp_bytes, simai->count);
    for (size_t i = 0; i < simai->count; i++) {
        st_buffer_printf(buffer, "%s\t-1", simai->rows[i].name);
        for (int j = 0; j < ST_SIMAI_COLUMNS; j++) {
            const st_simai_work *work = &simai->rows[i].work[j];
            /* Without a suffix the column says which group it is. */
            st_buffer_printf(buffer, "\t%llu\t%s%s\t%llu", (unsigned long long)work->compute_ns,
                             st_simai_kind_words[work->kind],
                             work->kind == ST_SIMAI_NONE
                                 ? ""
                                 : (work->group == ST_GROUP_EP          ? "_EP"
                                    : work->group == ST_GROUP_EXPERT_DP ? "_DP_EP"
                                                                        : ""),
                             (unsigned long long)work->bytes);
        }
        st_buffer_printf(buffer, "\t%llu\n", (unsigned long long)simai->rows[i].update_ns);
    }
}

/* ---- totals ---- */

typedef struct totals {
    double computed_s[ST_SIMAI_COLUMNS];
    double bytes[ST_GROUPS][ST_SIMAI_KINDS];
    uint64_t messages[ST_GROUPS][ST_SIMAI_KINDS];
} totals;

static void fill_message(const void *context, size_t index, st_node *node)
{
    const totals *all = context;
    size_t group = index / ST_SIMAI_KINDS;
    size_t kind = index % ST_SIMAI_KINDS;
    if (all->messages[group][kind] == 0)
        return;
    st_put_text(node, "group", st_group_name((st_group)group));
    st_put_text(node, "collective", st_simai_kind_words[kind]);
    st_put_count(node, "messages", all->messages[group][kind]);
    st_put_number(node, "bytes", all->bytes[group][kind]);
}

void st_simai_report(const st_simai *simai, st_arena *arena, st_result *result)
{
    static const char *const sizes[] = {"tp", "ep", "pp", "vpp", "ga", "all_gpus"};
    static const char *const computed[] = {"forward_s", "input_gradients_s", "weight_gradients_s"};
    st_node *root = st_result_begin(result, arena);
    totals *all = st_arena_alloc(arena, 1, sizeof *all);
    if (all == NULL)
        return; /* the arena has failed, and with it the result */
    for (size_t i = 0; i < simai->count * ST_SIMAI_COLUMNS; i++) {
        const st_simai_work *work = &simai->rows[i / ST_SIMAI_COLUMNS].work[i % ST_SIMAI_COLUMNS];
        all->computed_s[i % ST_SIMAI_COLUMNS] += (double)work->compute_ns / 1e9;
        all->bytes[work->group][work->kind] += (double)work->bytes;
        all->messages[work->group][work->kind] += work->kind == ST_SIMAI_NONE ? 0 : 1;
    }
    for (int i = 0; i < ST_SIMAI_SIZES; i++) {
        st_put_count(root, sizes[i], simai->size[i]);
        st_say(root, "%-18s  %llu\n", sizes[i], (unsigned long long)simai->size[i]);
    }
    st_put_count(root, "rows", simai->count);
    st_put_number(root, "pp_bytes", (double)simai->pp_bytes);
    st_say(root, "%-18s  %zu\n", "rows", simai->count);
    for (int i = 0; i < ST_SIMAI_COLUMNS; i++) {
        st_put_seconds(root, computed[i], all->computed_s[i]);
        st_say(root, "%-18s  %.6g s\n", computed[i], all->computed_s[i]);
    }
    const st_node *messages =
        st_put_rows(root, "messages", fill_message, all, (size_t)ST_GROUPS * ST_SIMAI_KINDS);
    st_say_title(root, "What a rank of the stage takes part in");
    st_table_show(st_say_columns(root, "||>messages|>bytes"), messages,
                  "group,collective,messages,bytes");
    st_result_csv(result, "messages", "group,collective,messages,bytes");
}
