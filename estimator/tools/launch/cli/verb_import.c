/* SPDX-License-Identifier: Apache-2.0 */
/* steptime import hf, layers, and from the files of frameworks */
#include "launch/cli/verbs.h"
#include "steptime/tool/input_files.h"
#include "launch/frameworks/formats.h"

#include <string.h>

typedef struct import_options {
    const char *cluster;
    const char *model;
    const char *assume;
    bool strict;
} import_options;

#define ROW_CLUSTER                                                                                \
    CLI_TEXT(import_options, cluster, "cluster", "NAME",                                           \
             "the cluster of the job; 'steptime list clusters' lists them")
#define ROW_MODEL                                                                                  \
    CLI_TEXT(import_options, model, "model", "NAME",                                               \
             "the model of the job, in place of the source's; 'steptime list models' lists them")
#define ROW_SET                                                                                    \
    CLI_TEXTS(cli_common, sets, "set", "KEY=VALUE",                                                \
              "set a key of the job, overriding the source; may be repeated",                      \
              .word = CLI_WORD_KEY, .common = true),                                               \
        CLI_ROW_STACK

#define ROW_STRICT                                                                                 \
    CLI_FLAG(import_options, strict, "strict",                                                     \
             "refuse keys that are neither read nor known as harmless")

#define ROW_REPORT                                                                                 \
    CLI_FLAG(cli_common, json, "json",                                                             \
             "print the job and what became of every key of the source as JSON", .common = true)

static const cli_option hf_rows[] = {
    ROW_CLUSTER,
    ROW_SET,
    CLI_TEXT(import_options, assume, "assume", "ARCHITECTURE",
             "read the file as this architecture, ignoring its own"),
    ROW_STRICT,
    ROW_REPORT,
    CLI_ROW_PATH,
    CLI_ROW_OUTPUT,
    CLI_END,
};

static const cli_option framework_rows[] = {
    ROW_CLUSTER, ROW_MODEL, ROW_SET, ROW_STRICT, ROW_REPORT, CLI_ROW_PATH, CLI_ROW_OUTPUT, CLI_END,
};

static const cli_example hf_examples[] = {
    {"steptime import hf config.json --cluster dgx-h100 -o job.yaml",
     "a job without a batch, to be filled in"},
    {"steptime import hf config.json --cluster dgx-h100 --set batch.sequence=4096 "
     "--set batch.global=512 --set batch.micro=1 --set parallel.dp=8 --set recompute=full -o "
     "job.yaml",
     "a job that is ready to estimate"},
    {"steptime import hf config.json --assume llama",
     "an unknown architecture that is built like a known one"},
    {NULL, NULL},
};

static const cli_example bridge_examples[] = {
    {"steptime import megatron-bridge run.yaml --cluster dgx-h100 -o job.yaml",
     "overrides of a recipe"},
    {NULL, NULL},
};

static const cli_example torchtitan_examples[] = {
    {"steptime import torchtitan run.toml -o job.yaml", "a file of 'steptime export torchtitan'"},
    {NULL, NULL},
};

static const cli_example deepspeed_examples[] = {
    {"steptime import deepspeed ds_config.json -o job.yaml",
     "a file of 'steptime export deepspeed'"},
    {"steptime import deepspeed ds_config.json --model llama3-8b --set batch.sequence=4096",
     "a file without a model, which a script builds"},
    {NULL, NULL},
};

static const cli_example megatron_examples[] = {
    {"steptime import megatron run.log --cluster dgx-a100 -o job.yaml",
     "arguments and measured step time of a run"},
    {"steptime import megatron pretrain.sh --cluster dgx-a100", "the command line in a script"},
    {"steptime import megatron -- --num-layers 24 --hidden-size 1024 --num-attention-heads 16 "
     "--seq-length 1024 --max-position-embeddings 1024 --micro-batch-size 4",
     "a command line"},
    {NULL, NULL},
};

static const cli_option layer_rows[] = {
    CLI_ROW_PATH,
    CLI_ROW_OUTPUT,
    CLI_END,
};

static const cli_example layer_examples[] = {
    {"steptime import layers my-net.layers -o my-net.yaml",
     "a list that a model names as layer_list: my-net.yaml"},
    {NULL, NULL},
};

/* Files inside of archives are not looked for, and nothing is read from an empty one. */
static st_status check_source(const st_source *source, st_errors *errors)
{
    static const struct {
        const char *kind;
        size_t at;
        const char *mark;
        const char *unpack;
    } kinds[] = {
        {"gzip", 0, "\x1f\x8b", "gunzip -c"},
        {"xz", 0,
         "\xfd"
         "7zXZ",
         "xz -dc"},
        {"zstd", 0, "\x28\xb5\x2f\xfd", "zstd -dc"},
        {"bzip2", 0, "BZh", "bunzip2 -c"},
        {"zip", 0, "PK\x03\x04", "unzip -p"},
        {"tar", 257, "ustar", "tar -xOf"},
    };
    if (strspn(source->text, " \t\r\n") >= source->length)
        return st_fail(errors, ST_ERR_SYNTAX, (st_place){.file = source->file},
                       "the file is empty");
    for (size_t i = 0; i < ST_COUNT(kinds); i++)
        if (source->length > kinds[i].at + strlen(kinds[i].mark) &&
            memcmp(source->text + kinds[i].at, kinds[i].mark, strlen(kinds[i].mark)) == 0)
            return st_fail(errors, ST_ERR_SYNTAX, (st_place){.file = source->file},
                           "the file is a %s archive" ST_EXPECTED "the file in it" ST_HINT
                           "unpack it, as with %s FILE | steptime import ... -",
                           kinds[i].kind, kinds[i].unpack);
    return ST_OK;
}

static int run_import(cli_run *run)
{
    const char *format = run->verb->name + strlen("import ");
    st_source source = {0};
    st_status status = cli_paths(run);
    if (status == ST_OK) {
        /* Several words, or one that begins an option, are the command line; one word is a file. */
        bool is_command = run->argument_count > 1 || strncmp(run->arguments[0], "--", 2) == 0;
        if (!is_command) {
            status = st_file_read_foreign(run->arguments[0], (st_place){0}, run->arena, &source,
                                          run->errors);
            if (status == ST_OK)
                status = check_source(&source, run->errors);
        } else {
            st_buffer text = {0};
            for (size_t i = 0; i < run->argument_count; i++) {
                st_buffer_text(&text, i > 0 ? " " : "");
                st_buffer_text(&text, run->arguments[i]);
            }
            const char *copy =
                text.failed ? NULL : st_arena_copy(run->arena, text.data, text.length);
            source = (st_source){.file = "the command line", .text = copy, .length = text.length};
            st_buffer_free(&text);
            status = copy != NULL ? ST_OK : ST_ERR_MEMORY;
        }
    }
    const import_options *options = run->options;
    st_result report;
    st_buffer report_job = {0};
    st_buffer *job = run->common.json ? &report_job : &run->result;
    const st_import_request request = (st_import_request){
        .paths = run->paths,
        .file = source.file,
        .text = source.text,
        .length = source.length,
        .cluster = options->cluster,
        .model = options->model,
        .assume = options->assume,
        .strict = options->strict,
        .report = run->common.json ? st_result_begin(&report, run->arena) : NULL,
        .sets = run->common.sets.items,
        .set_count = run->common.sets.count};
    if (status == ST_OK)
        status = st_format_import(format, &request, job, run->errors);
    if (status == ST_OK && run->common.json)
        cli_show(run, &report);
    st_buffer_free(&report_job);
    return cli_exit_code(run, status);
}

#define IMPORT(rows)                                                                               \
    .words = {CLI_WORD_FILE, CLI_WORD_NONE}, .options = rows,                                      \
    .options_bytes = sizeof(import_options), .run = run_import

const cli_verb cli_verb_import_hf = {
    .name = "import hf",
    .arguments = "FILE",
    .summary = "write a job file for the model of a Hugging Face config.json",
    .doc = "Reads the shape of a decoder-only language model, including the one inside a "
           "multimodal model, and writes a job file in which each value names its field. Such a "
           "file has no batch, plan or cluster: set them with --set and --cluster or fill them in "
           "later. FILE may be - for standard input. Fetch a file from the Hub with 'curl -LO "
           "https://huggingface.co/ORGANISATION/MODEL/resolve/main/config.json'.",
    .examples = hf_examples,
    IMPORT(hf_rows),
};

const cli_verb cli_verb_import_megatron = {
    .name = "import megatron",
    .arguments = "LOG|SCRIPT|ARGUMENT...",
    .summary = "write a job file for a run of Megatron-LM",
    .doc = "Reads the dump of arguments and the iteration times of a log, or the options of a "
           "command line or script, and writes a job file in which each value names its argument. "
           "The median of the iteration times, without the first ones, becomes "
           "measured.step_time. Arguments without effect on an estimate and unknown arguments are "
           "listed separately. FILE may be - for standard input.",
    .examples = megatron_examples,
    IMPORT(framework_rows),
};

const cli_verb cli_verb_import_bridge = {
    .name = "import megatron-bridge",
    .arguments = "FILE",
    .summary = "write a job file for overrides of a Megatron-Bridge recipe",
    .doc = "Reads sections such as model, train and ddp. Missing values get the defaults of "
           "Megatron, not of a recipe: override them with --set. The file does not contain the "
           "number of ranks. FILE may be - for standard input.",
    .examples = bridge_examples,
    IMPORT(framework_rows),
};

const cli_verb cli_verb_import_torchtitan = {
    .name = "import torchtitan",
    .arguments = "FILE",
    .summary = "write a job file for a configuration of torchtitan",
    .doc = "Reads plan, batch, precision and recomputation. The shape of the model is Python code "
           "that a flavor names: an exported file has it in comments; for other files give it with "
           "--set. FILE may be - for standard input.",
    .examples = torchtitan_examples,
    IMPORT(framework_rows),
};

const cli_verb cli_verb_import_deepspeed = {
    .name = "import deepspeed",
    .arguments = "FILE",
    .summary = "write a job file for a configuration of DeepSpeed",
    .doc = "Reads batch, ZeRO stage and precision. The model and the sizes of its groups are "
           "arguments of Megatron-DeepSpeed: an exported file has them under _steptime; for other "
           "files name the model with --model and give the rest with --set. FILE may be - for "
           "standard "
           "input.",
    .examples = deepspeed_examples,
    IMPORT(framework_rows),
};

const cli_verb cli_verb_import_layers = {
    .name = "import layers",
    .arguments = "FILE",
    .summary = "make a layer list from a text with one line per layer",
    .doc = "Reads a text with one line per layer (kind, name, sizes) and writes a layer list for "
           "models: parameters, FLOP, values kept, passed on and moved, and kernels, computed by "
           "the sheet layer-kinds (docs/layers.md). FILE may be - for "
           "standard input.",
    .examples = layer_examples,
    IMPORT(layer_rows),
};
