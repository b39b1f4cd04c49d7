/* SPDX-License-Identifier: Apache-2.0 */
/* steptime import layers */
#include "launch/cli/verbs.h"

#include "launch/import/import.h"
#include "steptime/tool/input_files.h"

static const cli_option option_rows[] = {
    CLI_ROW_PATH,
    CLI_ROW_OUTPUT,
    CLI_END,
};

static const cli_example examples[] = {
    {"steptime import layers my-net.layers -o my-net.yaml",
     "a list that a model names as layer_list: my-net.yaml"},
    {NULL, NULL},
};

static int run_layers(cli_run *run)
{
    st_source source = {0};
    st_status status = cli_paths(run);
    if (status == ST_OK)
        status = st_file_read_foreign(run->arguments[0], (st_place){0}, run->arena, &source,
                                      run->errors);
    const st_import_request request = {
        .paths = run->paths, .file = source.file, .text = source.text, .length = source.length};
    if (status == ST_OK)
        status = st_import_layers(&request, &run->result, run->errors);
    return cli_exit_code(run, status);
}

const cli_verb cli_verb_import_layers = {
    .name = "import layers",
    .arguments = "FILE",
    .words = {CLI_WORD_FILE, CLI_WORD_NONE},
    .summary = "make a layer list from a text with one line per layer",
    .doc = "Reads a text with one line per layer (kind, name, sizes) and writes a layer list for "
           "models: parameters, FLOP, values kept, passed on and moved, and kernels, computed by "
           "the sheet layer-kinds (docs/layers.md). FILE may be - for "
           "standard input.",
    .examples = examples,
    .options = option_rows,
    .options_bytes = 0,
    .run = run_layers,
};
