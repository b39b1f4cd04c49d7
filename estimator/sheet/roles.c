/* SPDX-License-Identifier: Apache-2.0 */
/* The table of roles, and what fills them in a sheet; see roles.h. */
#include "sheet/roles.h"

#include "sheet/internal.h"

static const char *const alone[] = {"cell", NULL};
static const char *const hiding[] = {"exposed", "hidden", "slowdown", NULL};

static const st_role_row rows[ST_ROLES] = {
    [ST_ROLE_STEP] = {"step", "s", alone, ST_JOIN_MAX, "time of a training step"},
    [ST_ROLE_MEMORY] = {"memory", "B", alone, ST_JOIN_MAX, "peak memory of a GPU"},
    [ST_ROLE_MFU] = {"mfu", "1", alone, ST_JOIN_NONE, "model FLOPs utilization"},
    [ST_ROLE_COMMUNICATION] = {"communication", "s", hiding, ST_JOIN_NONE,
                               "communication of a step that nothing runs beside, that hides, and "
                               "by how much it slows computation down"},
    [ST_ROLE_TOKENS] = {"tokens", "1", alone, ST_JOIN_NONE, "tokens of the whole training"},
    [ST_ROLE_COST] = {"cost", "$", alone, ST_JOIN_SUM, "price of the whole training"},
    [ST_ROLE_ENERGY] = {"energy", "J", alone, ST_JOIN_SUM, "energy of the whole training"},
    [ST_ROLE_TP] = {"tp", "1", alone, ST_JOIN_NONE, "tensor-parallel size"},
    [ST_ROLE_CP] = {"cp", "1", alone, ST_JOIN_NONE, "context-parallel size"},
    [ST_ROLE_DP] = {"dp", "1", alone, ST_JOIN_NONE, "data-parallel size"},
    [ST_ROLE_PP] = {"pp", "1", alone, ST_JOIN_NONE, "pipeline stages"},
    [ST_ROLE_EP] = {"ep", "1", alone, ST_JOIN_NONE, "expert-parallel size"},
    [ST_ROLE_EXPERT_TP] = {"expert_tp", "1", alone, ST_JOIN_NONE,
                           "tensor-parallel size inside an expert"},
    [ST_ROLE_GPUS_PER_NODE] = {"gpus_per_node", "1", alone, ST_JOIN_NONE, "GPUs of a node"},
    [ST_ROLE_TP_PER_NODE] = {"tp_per_node", "1", alone, ST_JOIN_NONE,
                             "ranks of a tensor-parallel group on one node; open"},
    [ST_ROLE_CP_PER_NODE] = {"cp_per_node", "1", alone, ST_JOIN_NONE,
                             "ranks of a context-parallel group on one node; open"},
    [ST_ROLE_DP_PER_NODE] = {"dp_per_node", "1", alone, ST_JOIN_NONE,
                             "ranks of a gradient reduction on one node; open"},
    [ST_ROLE_EP_PER_NODE] = {"ep_per_node", "1", alone, ST_JOIN_NONE,
                             "ranks of an expert-parallel group on one node; open"},
    [ST_ROLE_EXPERT_DP_PER_NODE] = {"expert_dp_per_node", "1", alone, ST_JOIN_NONE,
                                    "ranks on one node of the reduction of experts' gradients; "
                                    "open"},
    [ST_ROLE_STAGES_CROSSING] = {"stages_crossing", "1", alone, ST_JOIN_NONE,
                                 "share of the boundaries between stages that lie between nodes; "
                                 "open"},
};

const st_role_row *st_role_describe(st_role role)
{
    return &rows[role];
}

size_t st_role_part_count(st_role role)
{
    size_t count = 0;
    while (rows[role].parts[count] != NULL) {
        count++;
    }
    return count;
}

const char *st_sheet_role_part(const st_sheet *sheet, st_role role, size_t part)
{
    return sheet->roles[role].cells[part];
}

const char *st_sheet_role(const st_sheet *sheet, st_role role)
{
    return sheet->roles[role].cells[0];
}

st_place st_sheet_role_place(const st_sheet *sheet, st_role role)
{
    return sheet->roles[role].place;
}

st_status st_sheet_need_roles(const st_sheet *sheet, const st_role *roles, size_t count,
                              const char *what, st_errors *errors)
{
    st_status status = ST_OK;
    for (size_t i = 0; i < count; i++) {
        const st_role_row *row = &rows[roles[i]];
        if (st_sheet_role(sheet, roles[i]) != NULL) {
            continue;
        }
        status = st_fail(errors, ST_ERR_USAGE, (st_place){0},
                         "sheet '%s' has no role '%s', which %s" ST_EXPECTED
                         "'%s: CELL' under 'roles' in %s, its %s",
                         st_sheet_name(sheet), row->name, what, row->name, st_sheet_file(sheet),
                         row->doc);
    }
    return status;
}
