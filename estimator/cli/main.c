/* SPDX-License-Identifier: Apache-2.0 */
/* steptime: the table of verbs, its own and those that tools run. */
#include "cli/verbs.h"

enum { MOST_VERBS = 96 };

/* One line a verb, those of a group together, and those with the same first word. */
#define OWN(verb)                                                                                  \
    {                                                                                              \
        .own = &cli_verb_##verb                                                                    \
    }
#define TOOL(words, at)                                                                            \
    {                                                                                              \
        .name = (words), .tool = (at)                                                              \
    }
/* clang-format off */
static const struct verb_row {
    const cli_verb *own;
    const char *name;
    const char *tool;
} rows[] = {


    OWN(estimate),
    OWN(explain),
    OWN(search),
    OWN(compare),
    TOOL("import hf", "launch"),
    TOOL("import megatron", "launch"),
    TOOL("import megatron-bridge", "launch"),
    TOOL("import torchtitan", "launch"),
    TOOL("import deepspeed", "launch"),
    TOOL("import nccl-topo", "launch"),
    TOOL("export", "launch"),
    OWN(list),
    OWN(sweep),
    OWN(scale),
    OWN(timeline),
    OWN(traffic),
    OWN(page),
    TOOL("export chakra", "workload"),
    TOOL("export simai", "workload"),
    TOOL("import layers", "launch"),
    OWN(sheet_check),
    OWN(sheet_show),
    OWN(sheet_list),
    OWN(sheet_export),
    OWN(plugin_list),
    OWN(plugin_info),
    OWN(plugin_check),
    OWN(plugin_new),
    TOOL("validate", "fit"),
    TOOL("fit", "fit"),
    TOOL("fit kernels", "fit"),
    TOOL("fit operators", "fit"),
    TOOL("fit overlap", "fit"),
    TOOL("fit ratios", "fit"),
    TOOL("fit nccl", "fit"),
    TOOL("profile list", "fit"),
    TOOL("profile show", "fit"),
    TOOL("profile import", "fit"),
    TOOL("profile export", "fit"),
    TOOL("profile remove", "fit"),
    OWN(steps_check),
    TOOL("trace summary", "trace"),
    TOOL("trace idle", "trace"),
    TOOL("trace breakdown", "trace"),
    TOOL("trace kernels", "trace"),
    TOOL("trace roofline", "trace"),
    TOOL("trace collectives", "trace"),
    TOOL("trace memory", "trace"),
    TOOL("trace diff", "trace"),
    TOOL("trace graph", "trace"),
    TOOL("trace replay", "trace"),
    TOOL("trace path", "trace"),
    TOOL("trace export", "trace"),
    TOOL("trace import", "record"),
    TOOL("trace layers", "fit"),
    TOOL("trace whatif", "trace"),
    TOOL("trace rank", "trace"),
    TOOL("trace sql", "trace"),
    TOOL("trace chakra", "workload"),
    TOOL("trace simai", "workload"),
    TOOL("record", "record"),
    TOOL("lsp", "lsp"),
    OWN(docs),
    OWN(completion),
    OWN(help),
};

static const cli_group groups[] = {
    {"Every day", "estimate"},
    {"More about a job", "list"},
    {"Formulas and plugins", "sheet check"},
    {"Measurements", "validate"},
    {"Recorded steps", "trace summary"},
    {"The program itself", "docs"},
};
/* clang-format on */
_Static_assert(ST_COUNT(rows) <= MOST_VERBS, "every row has room");

int main(int argc, char **argv)
{
    static const cli_option none[] = {CLI_END};
    static cli_verb of_tools[MOST_VERBS];
    static const char *summaries[MOST_VERBS];
    const cli_verb *verbs[MOST_VERBS];
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        of_tools[i] = (cli_verb){.name = rows[i].name,
                                 .tool = rows[i].tool,
                                 .learned = &summaries[i],
                                 .arguments = "",
                                 .options = none};
        verbs[i] = rows[i].own != NULL ? rows[i].own : &of_tools[i];
    }
    return cli_main(&(cli_program){.verbs = verbs,
                                   .verb_count = ST_COUNT(rows),
                                   .groups = groups,
                                   .group_count = ST_COUNT(groups)},
                    argc, argv);
}
