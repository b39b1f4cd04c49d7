/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log of a run as a job: the configuration that frameworks print at the start, given to the
 * importer of that framework with its lines where the log has them, and the times of the steps.
 *
 * Megatron-LM prints its arguments; Megatron-Bridge and NeMo 1 a configuration in YAML below a
 * heading; torchtitan and DeepSpeed one in JSON; MaxText a line for each parameter.
 */
#include "launch/frameworks/settings.h"

#include "base/chars.h"
#include "base/yaml.h"
#include "steptime/keys.h"

#include <ctype.h>
#include <string.h>

enum { HEADING_LINES = 5 };

typedef enum log_kind {
    LOG_NONE,
    LOG_DUMP,   /* arguments of Megatron */
    LOG_YAML,   /* below a heading */
    LOG_JSON,   /* from its first brace */
    LOG_PARAMS, /* a line each */
} log_kind;

/* What a configuration begins with, in the order in which it is looked for. */
static const struct {
    const char *mark;
    log_kind kind;
    st_framework framework;
    const char *what;
} marks[] = {
    {"-- arguments --", LOG_DUMP, ST_MEGATRON, "the log of a run"},
    {"Task Configuration --", LOG_YAML, ST_MEGATRON_BRIDGE, "the log of a run"},
    {"Experiment configuration **", LOG_YAML, ST_MEGATRON, "the log of NeMo, in arguments"},
    {"Running with configs: {", LOG_JSON, ST_TORCHTITAN, "the log of a run"},
    {"Running with args: {", LOG_JSON, ST_TORCHTITAN, "the log of a run"},
    {"json = {", LOG_JSON, ST_DEEPSPEED, "the log of a run"},
    {"Config param ", LOG_PARAMS, ST_MEGATRON, "the log of MaxText, in arguments"},
};

/* Parameters of MaxText and of NeMo 1 as options of Megatron. `when` is the value that gives the
 * option, NULL: any, which the option then takes. */
typedef struct log_option {
    const char *name;
    const char *when;
    const char *option;
} log_option;

static const log_option maxtext[] = {
    {"num_decoder_layers", NULL, "--num-layers"},
    {"emb_dim", NULL, "--hidden-size"},
    {"mlp_dim", NULL, "--ffn-hidden-size"},
    {"num_query_heads", NULL, "--num-attention-heads"},
    {"num_kv_heads", NULL, "--group-query-attention --num-query-groups"},
    {"head_dim", NULL, "--kv-channels"},
    {"vocab_size", NULL, "--vocab-size"},
    {"max_target_length", NULL, "--max-position-embeddings 0 --seq-length"},
    {"global_batch_size_to_train_on", NULL, "--global-batch-size"},
    {"per_device_batch_size", NULL, "--micro-batch-size"},
    {"ici_tensor_parallelism", NULL, "--tensor-model-parallel-size"},
    {"ici_context_parallelism", NULL, "--context-parallel-size"},
    {"ici_expert_parallelism", NULL, "--expert-model-parallel-size"},
    {"ici_pipeline_parallelism", NULL, "--pipeline-model-parallel-size"},
    {"num_experts_per_tok", NULL, "--moe-router-topk"},
    {"logits_via_embedding", "False", "--untie-embeddings-and-output-weights"},
    {"remat_policy", "full",
     "--recompute-granularity full --recompute-method uniform "
     "--recompute-num-layers 1"},
    {"remat_policy", "custom",
     "--recompute-granularity selective --recompute-modules core_attn mlp layernorm"},
    {"quantization", "fp8", "--fp8-format hybrid"},
    {"weight_dtype", "bfloat16", "--main-params-dtype bf16"},
};

static const log_option nemo[] = {
    {".num_layers", NULL, "--num-layers"},
    {".hidden_size", NULL, "--hidden-size"},
    {".ffn_hidden_size", NULL, "--ffn-hidden-size"},
    {".num_attention_heads", NULL, "--num-attention-heads"},
    {".num_query_groups", NULL, "--group-query-attention --num-query-groups"},
    {".kv_channels", NULL, "--kv-channels"},
    {".max_position_embeddings", NULL, "--max-position-embeddings"},
    {".encoder_seq_length", NULL, "--seq-length"},
    {".micro_batch_size", NULL, "--micro-batch-size"},
    {".global_batch_size", NULL, "--global-batch-size"},
    {".tensor_model_parallel_size", NULL, "--tensor-model-parallel-size"},
    {".pipeline_model_parallel_size", NULL, "--pipeline-model-parallel-size"},
    {".virtual_pipeline_model_parallel_size", NULL, "--num-virtual-stages-per-pipeline-rank"},
    {".context_parallel_size", NULL, "--context-parallel-size"},
    {".expert_model_parallel_size", NULL, "--expert-model-parallel-size"},
    {".num_moe_experts", NULL, "--num-experts"},
    {".moe_router_topk", NULL, "--moe-router-topk"},
    {".sequence_parallel", "true", "--sequence-parallel"},
    {".activation", "fast-swiglu", "--swiglu"},
    {".activation", "swiglu", "--swiglu"},
    {".bias", "false", "--disable-bias-linear"},
    {".normalization", "rmsnorm", "--normalization RMSNorm"},
    {".position_embedding_type", NULL, "--position-embedding-type"},
    {".share_embeddings_and_output_weights", "false", "--untie-embeddings-and-output-weights"},
    {".activations_checkpoint_granularity", NULL, "--recompute-granularity"},
    {".activations_checkpoint_method", NULL, "--recompute-method"},
    {".activations_checkpoint_num_layers", NULL, "--recompute-num-layers"},
    {".hidden_dropout", NULL, "--hidden-dropout"},
    {".attention_dropout", NULL, "--attention-dropout"},
    {"fp8", "true", "--fp8-format hybrid"},
    {".ub_tp_comm_overlap", "true", "--tp-comm-overlap"},
    {".optim.name", "distributed_fused_adam", "--use-distributed-optimizer"},
    {".optim.name", "mcore_distributed_optim", "--use-distributed-optimizer"},
    {"trainer.precision", "bf16", "--bf16"},
    {"trainer.precision", "bf16-mixed", "--bf16"},
    {"trainer.num_nodes", NULL, "--nnodes"},
    {"trainer.devices", NULL, "--nproc_per_node"},
};

/* What MaxText's decoders are where no parameter says otherwise: the weights are sharded. */
static const char maxtext_is[] =
    "--bf16 --swiglu --disable-bias-linear --normalization RMSNorm --position-embedding-type rope "
    "--hidden-dropout 0 --attention-dropout 0 --use-megatron-fsdp "
    "--data-parallel-sharding-strategy optim_grads_params --use-distributed-optimizer";

typedef struct log_reader {
    const st_import_request *request;
    st_import_request log; /* without names of ranks */
    st_arena *arena;
    st_errors *errors;
    size_t mark;  /* of the last configuration; its count where there is none */
    int line;     /* that it begins in */
    size_t start; /* offset of that line */
    size_t found; /* configurations */
    st_buffer text;
    const char *carried[2];
    size_t carried_count;
} log_reader;

/* ---- lines ---- */

/* No rank is named; what is left of the line of a rank that does not count. */
enum { NO_RANK = -1, OTHER_RANK = '\f' };

/* The line begins with the pattern: d is a digit or, behind a blank, a blank, a a letter. */
static size_t matches(const char *text, size_t length, const char *pattern)
{
    size_t at = 0;
    for (; pattern[at] != '\0'; at++) {
        const unsigned char c = at < length ? (unsigned char)text[at] : '\0';
        const bool is_padded = c == ' ' && at > 0 && text[at - 1] == ' ';
        if (pattern[at] == 'd'   ? !isdigit(c) && !is_padded
            : pattern[at] == 'a' ? !isalpha(c)
                                 : c != (unsigned char)pattern[at])
            return 0;
    }
    return at;
}

/* A time that whoever keeps the log writes in front of a line, in brackets or not. */
static size_t clock_of(const char *text, size_t length)
{
    static const char *const patterns[] = {"dddd-dd-ddTdd:dd:dd", "dddd-dd-dd dd:dd:dd",
                                           "dddd/dd/dd dd:dd:dd", "aaa dd dd:dd:dd", "dd:dd:dd"};
    const size_t bracket = length > 0 && text[0] == '[' ? 1 : 0;
    size_t at = 0;
    for (size_t i = 0; i < ST_COUNT(patterns) && at == 0; i++)
        at = matches(text + bracket, length - bracket, patterns[i]);
    if (at == 0)
        return 0;
    at += bracket;
    while (at < length && (isdigit((unsigned char)text[at]) || strchr(".,Z+-:", text[at]) != NULL))
        at++;
    if (bracket > 0 && (at >= length || text[at++] != ']'))
        return 0;
    /* A line without more has lost the blank that ended it. */
    return at == length ? at : text[at] == ' ' || text[at] == '\t' ? at + 1 : 0;
}

/* What launchers write in front of a line of a rank: "[rank0]:", "[default0]:", "0: ". */
static size_t rank_of(const char *text, size_t length, int *rank)
{
    static const char *const names[] = {"[rank", "[default", ""};
    for (size_t i = 0; i < ST_COUNT(names); i++) {
        const size_t size = strlen(names[i]);
        size_t at = size;
        int value = 0;
        if (length <= size || strncmp(text, names[i], size) != 0)
            continue;
        for (; at < length && at < size + 7 && isdigit((unsigned char)text[at]); at++)
            value = 10 * value + text[at] - '0';
        const char *const end = size > 0 ? "]:" : ": ";
        if (at == size || at + 2 > length || memcmp(text + at, end, 2) != 0)
            continue;
        *rank = value;
        /* A blank behind a name in brackets belongs to it, unless the line is indented. */
        const bool is_apart =
            size > 0 && at + 3 < length && text[at + 2] == ' ' && text[at + 3] != ' ';
        return at + (is_apart ? 3 : 2);
    }
    return 0;
}

static size_t prefix_of(const megatron_line *line, int *rank)
{
    size_t at = 0;
    *rank = NO_RANK;
    for (size_t more = 1; more > 0; at += more) {
        more = clock_of(line->text + at, line->length - at);
        if (more == 0)
            more = rank_of(line->text + at, line->length - at, rank);
    }
    return at;
}

static size_t mark_of(const megatron_line *line)
{
    size_t i = 0;
    while (i < ST_COUNT(marks) && megatron_find(line, marks[i].mark) == NULL)
        i++;
    return i;
}

/*
 * What other launchers write in front of the heading of a configuration and of the two lines below:
 * "node-1: ", "(Worker pid=23) ", "[1,0]<stdout>:". Indentation does not belong to it.
 */
static size_t tag_of(const st_import_request *request, size_t offset, const megatron_line *heading,
                     size_t from)
{
    const size_t mark = mark_of(heading);
    const char *const tag = heading->text + from;
    megatron_line line = {0};
    int rank;
    if (mark == ST_COUNT(marks) || marks[mark].kind == LOG_PARAMS)
        return 0;
    size_t length =
        (size_t)(megatron_find(heading, marks[mark].mark) - tag) - strlen(marks[mark].mark);
    for (int i = 0; i < 2 && megatron_next_line(request, &offset, &line);) {
        const size_t start = prefix_of(&line, &rank);
        size_t same = 0;
        while (same < length && start + same < line.length && line.text[start + same] == tag[same])
            same++;
        length = start < line.length ? same : length;
        i += start < line.length ? 1 : 0;
    }
    size_t end = length;
    bool is_named = false;
    while (end > 0 && tag[end - 1] == ' ')
        end--;
    for (size_t i = 0; i < end; i++)
        is_named |= isalnum((unsigned char)tag[i]) != 0;
    return !is_named ? 0 : end < length ? end + 1 : end;
}

/*
 * The lines without what is in front of them. Of several ranks one counts: the first that prints a
 * configuration, and for steps the first that prints them, which is another one in Megatron.
 */
static bool clean(log_reader *reader)
{
    const st_import_request *request = reader->request;
    char *copy = st_arena_alloc(reader->arena, request->length + 1, 1);
    megatron_line line = {0};
    size_t length = 0;
    int rank;
    int of_configuration = NO_RANK;
    int of_steps = NO_RANK;
    int other_line = 0;
    const char *tag = "";
    size_t tag_length = 0;
    if (copy == NULL)
        return false;
    for (size_t offset = 0; megatron_next_line(request, &offset, &line);) {
        (void)prefix_of(&line, &rank);
        if (of_configuration == NO_RANK && mark_of(&line) < ST_COUNT(marks))
            of_configuration = rank;
        if (rank == NO_RANK || !megatron_is_step(&line))
            continue;
        of_steps = of_steps == NO_RANK ? rank : of_steps;
        other_line = other_line == 0 && rank != of_steps ? line.number : other_line;
    }
    line.number = 0;
    for (size_t offset = 0; megatron_next_line(request, &offset, &line);) {
        size_t from = prefix_of(&line, &rank);
        if (mark_of(&line) < ST_COUNT(marks)) {
            tag = line.text + from;
            tag_length = tag_of(request, offset, &line, from);
        }
        if (tag_length > 0 && line.length - from >= tag_length &&
            memcmp(line.text + from, tag, tag_length) == 0)
            from += tag_length;
        const int wanted = megatron_is_step(&line) ? of_steps : of_configuration;
        const bool is_other = rank != NO_RANK && wanted != NO_RANK && rank != wanted;
        if (is_other && line.length > 0)
            copy[length++] = OTHER_RANK;
        for (size_t i = from; i < line.length && !is_other; i++)
            copy[length++] = line.text[i] != '\0' ? line.text[i] : '?';
        if (offset <= request->length)
            copy[length++] = '\n';
    }
    reader->log = *request;
    reader->log.text = copy;
    reader->log.length = length;
    if (other_line > 0)
        (void)st_report(reader->errors, ST_SEVERITY_WARNING, ST_ERR_VALUE,
                        (st_place){.file = request->file, .line = other_line},
                        "several ranks print their steps; only those of rank %d count", of_steps);
    return true;
}

/* The last configuration counts, as of a run that started again. */
static void find_configuration(log_reader *reader)
{
    megatron_line line = {0};
    size_t begun = 0;
    bool in_params = false;
    reader->mark = ST_COUNT(marks);
    for (size_t offset = 0; megatron_next_line(&reader->log, &offset, &line);) {
        const size_t i = mark_of(&line);
        /* Megatron-DeepSpeed prints both, and the arguments have the model. */
        const bool is_less = reader->mark < ST_COUNT(marks) && i < ST_COUNT(marks) &&
                             marks[reader->mark].kind == LOG_DUMP &&
                             marks[i].framework == ST_DEEPSPEED;
        const bool is_more = in_params && i < ST_COUNT(marks) && marks[i].kind == LOG_PARAMS;
        in_params = i < ST_COUNT(marks)
                        ? marks[i].kind == LOG_PARAMS
                        : in_params && (line.length == 0 || line.text[0] == OTHER_RANK);
        if (i < ST_COUNT(marks) && !is_less && !is_more) {
            reader->mark = i;
            reader->line = line.number;
            reader->start = begun;
            reader->found++;
        }
        begun = offset;
    }
}

/* ---- configurations ---- */

static void put_blank_lines(log_reader *reader, int count)
{
    for (int i = 0; i < count; i++)
        st_buffer_text(&reader->text, "\n");
}

static st_status cut(const log_reader *reader, const char *wanted)
{
    return st_fail(reader->errors, ST_ERR_SYNTAX,
                   (st_place){.file = reader->request->file, .line = reader->line},
                   "the configuration that begins here is cut" ST_EXPECTED "%s", wanted);
}

/* Python's True, None and single quotes become those of JSON. */
static void put_json_word(log_reader *reader, const char *text, size_t length)
{
    static const char *const words[][2] = {{"True", "true"}, {"False", "false"}, {"None", "null"}};
    for (size_t i = 0; i < ST_COUNT(words); i++)
        if (strlen(words[i][0]) == length && memcmp(words[i][0], text, length) == 0) {
            st_buffer_text(&reader->text, words[i][1]);
            return;
        }
    st_buffer_printf(&reader->text, "%.*s", (int)length, text);
}

static st_status take_json(log_reader *reader)
{
    const char *text = reader->log.text;
    const char *end = text + reader->log.length;
    const char *at = memchr(text + reader->start, '{', (size_t)(end - text) - reader->start);
    size_t depth = 0;
    put_blank_lines(reader, reader->line - 1);
    while (at != NULL && at < end) {
        if (*at == '"' || *at == '\'') {
            const char quote = *at;
            const char *stop = at + 1;
            while (stop < end && *stop != quote && *stop != '\n')
                stop += *stop == '\\' && stop + 1 < end ? 2 : 1;
            if (stop >= end || *stop != quote)
                return cut(reader, "a text that ends in its line");
            st_buffer_printf(&reader->text, "\"%.*s\"", (int)(stop - at - 1), at + 1);
            at = stop + 1;
        } else if (isalpha((unsigned char)*at)) {
            const char *stop = at;
            while (stop < end && st_is_name(*stop))
                stop++;
            put_json_word(reader, at, (size_t)(stop - at));
            at = stop;
        } else {
            depth += *at == '{' ? 1 : 0;
            depth -= *at == '}' ? 1 : 0;
            st_buffer_printf(&reader->text, "%c", *at == OTHER_RANK ? ' ' : *at);
            at++;
            if (depth == 0)
                return ST_OK;
        }
    }
    return cut(reader, "its last brace");
}

/* A line of YAML, as a configuration has it; others end it. */
static bool is_yaml(const char *text, size_t length)
{
    const char *colon = memchr(text, ':', length);
    if (length == 0 || text[0] == ' ' || text[0] == '-')
        return length > 1 && !(text[0] == '-' && text[1] == '-');
    return colon != NULL && (colon[1] == ' ' || colon == text + length - 1) &&
           st_is_name(text[0]) && memchr(text, ' ', (size_t)(colon - text)) == NULL;
}

static st_status take_yaml(log_reader *reader)
{
    megatron_line line = {.number = reader->line - 1};
    size_t offset = reader->start;
    size_t lines = 0;
    size_t indent = 0;
    bool ends = false;
    put_blank_lines(reader, reader->line);
    (void)megatron_next_line(&reader->log, &offset, &line);
    while (megatron_next_line(&reader->log, &offset, &line)) {
        size_t blanks = 0;
        if (line.length > 0 && line.text[0] == OTHER_RANK) {
            put_blank_lines(reader, 1);
            continue;
        }
        while (blanks < line.length && line.text[blanks] == ' ')
            blanks++;
        if (lines == 0)
            indent = blanks;
        /* A heading may have lines of its own. */
        if (lines == 0 && !is_yaml(line.text + blanks, line.length - blanks) &&
            line.number < reader->line + HEADING_LINES) {
            put_blank_lines(reader, 1);
            continue;
        }
        ends = line.length < indent || !is_yaml(line.text + indent, line.length - indent);
        if (ends)
            break;
        st_buffer_printf(&reader->text, "%.*s\n", (int)(line.length - indent), line.text + indent);
        lines++;
    }
    return lines == 0 ? cut(reader, "the lines of a configuration")
           : !ends    ? cut(reader, "lines behind it")
                      : ST_OK;
}

/* The name that a framework gives an argument of Megatron; NULL: none. */
static const char *name_in(const log_option *options, size_t count, const char *argument)
{
    for (size_t i = 0; i < count; i++)
        for (const char *at = options[i].option; at != NULL; at = strstr(at, " --")) {
            size_t same = 0;
            at += strspn(at, " -");
            while (at[same] != '\0' && argument[same] == (at[same] == '-' ? '_' : at[same]))
                same++;
            if (argument[same] == '\0' && (at[same] == '\0' || at[same] == ' '))
                return options[i].name + (options[i].name[0] == '.' ? 1 : 0);
        }
    return NULL;
}

static const char *maxtext_name(const char *argument)
{
    return name_in(maxtext, ST_COUNT(maxtext), argument);
}

static const char *nemo_name(const char *argument)
{
    return name_in(nemo, ST_COUNT(nemo), argument);
}

/* A configuration of DeepSpeed has no model. */
static const char *no_name(const char *argument)
{
    (void)argument;
    return NULL;
}

/* Options for one parameter, in the line where it is. */
static void put_options(log_reader *reader, const log_option *options, size_t count,
                        const char *name, const char *value)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(options[i].name, name) != 0 || value[0] == '\0' || strcmp(value, "null") == 0 ||
            strcmp(value, "None") == 0)
            continue;
        if (options[i].when == NULL)
            st_buffer_printf(&reader->text, " %s %s", options[i].option, value);
        else if (strcmp(options[i].when, value) == 0)
            st_buffer_printf(&reader->text, " %s", options[i].option);
    }
}

static void flatten(log_reader *reader, const st_yaml_node *map, const char *prefix, int *line)
{
    static const char model[] = ST_KEY_MODEL;
    for (size_t i = 0; i < map->count; i++) {
        const st_yaml_node *node = map->items[i];
        const char *name = st_arena_printf(reader->arena, "%s%.200s", prefix, map->keys[i]);
        const char *below = name != NULL ? st_arena_printf(reader->arena, "%s.", name) : NULL;
        if (below == NULL || node == NULL)
            return;
        put_blank_lines(reader, node->place.line - *line);
        *line = node->place.line > *line ? node->place.line : *line;
        if (node->kind == ST_YAML_MAP)
            flatten(reader, node, below, line);
        else if (node->kind == ST_YAML_SCALAR)
            put_options(reader, nemo, ST_COUNT(nemo),
                        name + (strncmp(name, model, strlen(model)) == 0 ? strlen(model) : 0),
                        node->text);
    }
}

static st_status nemo_options(log_reader *reader)
{
    const st_yaml_node *root = NULL;
    const char *copy = st_arena_copy(reader->arena, reader->text.data, reader->text.length);
    int line = 1;
    st_status status = copy != NULL
                           ? st_yaml_parse(reader->request->file, copy, reader->text.length,
                                           reader->arena, &root, reader->errors)
                           : ST_ERR_MEMORY;
    st_buffer_free(&reader->text);
    if (status == ST_OK && root->kind == ST_YAML_MAP)
        flatten(reader, root, "", &line);
    return status;
}

/* A parameter has one value, in the lines of a run up to this one. */
static st_status check_param(const log_reader *reader, const char *key, const char *value, int at)
{
    megatron_line line = {.number = reader->line - 1};
    char *words = st_arena_printf(reader->arena, "Config param %s: ", key);
    size_t offset = reader->start;
    while (words != NULL && megatron_next_line(&reader->log, &offset, &line) && line.number < at) {
        const char *other = megatron_find(&line, words);
        const size_t length = other != NULL ? line.length - (size_t)(other - line.text) : 0;
        if (other != NULL && (strlen(value) != length || memcmp(value, other, length) != 0))
            return st_fail(reader->errors, ST_ERR_VALUE,
                           (st_place){.file = reader->request->file, .line = at},
                           "another value of '%.80s' in the same run" ST_FOUND "'%.80s'" ST_EXPECTED
                           "'%.*s', as line %d says",
                           key, value, (int)(length < 80 ? length : 80), other, line.number);
    }
    return words != NULL ? ST_OK : ST_ERR_MEMORY;
}

static st_status take_params(log_reader *reader)
{
    megatron_line line = {.number = reader->line - 1};
    size_t offset = reader->start;
    double dense = 0;
    bool ends = false;
    put_blank_lines(reader, reader->line - 2);
    while (megatron_next_line(&reader->log, &offset, &line)) {
        const char *name = megatron_find(&line, "Config param ");
        const char *colon =
            name != NULL ? memchr(name, ':', line.length - (size_t)(name - line.text)) : NULL;
        put_blank_lines(reader, 1);
        ends = colon == NULL;
        if (name != NULL && ends && offset <= reader->log.length)
            return st_fail(reader->errors, ST_ERR_SYNTAX,
                           (st_place){.file = reader->request->file, .line = line.number},
                           "the parameter in this line is cut" ST_EXPECTED
                           "'Config param NAME: VALUE'");
        if (ends)
            continue;
        const char *key = st_arena_copy(reader->arena, name, (size_t)(colon - name));
        const char *from = colon + 1 + (colon[1] == ' ' ? 1 : 0);
        const char *value =
            st_arena_copy(reader->arena, from, line.length - (size_t)(from - line.text));
        if (key == NULL || value == NULL)
            return ST_ERR_MEMORY;
        const st_status status = check_param(reader, key, value, line.number);
        if (status != ST_OK)
            return status;
        if (strcmp(key, "num_experts") == 0 && strcmp(value, "1") != 0)
            st_buffer_printf(&reader->text, " --num-experts %s", value);
        dense += strcmp(key, "num_experts") == 0 && strcmp(value, "1") == 0 ? 1 : 0;
        if (dense == 0 || strcmp(key, "num_experts_per_tok") != 0)
            put_options(reader, maxtext, ST_COUNT(maxtext), key, value);
    }
    st_buffer_printf(&reader->text, " %s", maxtext_is);
    return ends ? ST_OK : cut(reader, "lines behind it");
}

/* ---- ranks ---- */

/* The number behind the words in the last line that has them; 0: none. */
static unsigned long long number_in_log(const log_reader *reader, const char *words)
{
    megatron_line line = {0};
    unsigned long long found = 0;
    for (size_t offset = 0; megatron_next_line(&reader->log, &offset, &line);) {
        const char *at = megatron_find(&line, words);
        unsigned long long value = 0;
        for (size_t i = 0; at != NULL && i < 9 && at + i < line.text + line.length &&
                           isdigit((unsigned char)at[i]);
             i++)
            value = 10 * value + (unsigned long long)(at[i] - '0');
        found = value > 0 ? value : found;
    }
    return found;
}

/*
 * Data-parallel ranks of torchtitan's "2-D device mesh with ['pp', 'dp_shard'], [2, 4]", whose
 * names say only what is above 1; 0: no such line.
 */
static unsigned long long ranks_of_mesh(const log_reader *reader)
{
    megatron_line line = {0};
    unsigned long long found = 0;
    for (size_t offset = 0; megatron_next_line(&reader->log, &offset, &line);) {
        const char *name = megatron_find(&line, "-D device mesh with [");
        const char *size = name != NULL ? megatron_find(&line, "], [") : NULL;
        const char *const end = line.text + line.length;
        unsigned long long ranks = size != NULL ? 1 : 0;
        while (size != NULL && size < end && isdigit((unsigned char)*size)) {
            unsigned long long value = 0;
            for (int i = 0; i < 7 && size < end && isdigit((unsigned char)*size); i++)
                value = 10 * value + (unsigned long long)(*size++ - '0');
            name += strspn(name, " '\"");
            ranks *= strncmp(name, "dp", 2) == 0 && ranks < 10000000 ? value : 1;
            name += strcspn(name, ",]");
            name += *name == ',' ? 1 : 0;
            while (size < end && strchr(", ", *size) != NULL)
                size++;
        }
        found = ranks > 0 ? ranks : found;
    }
    return found;
}

static bool has_line(const log_reader *reader, const char *words)
{
    megatron_line line = {0};
    for (size_t offset = reader->start; megatron_next_line(&reader->log, &offset, &line);)
        if (megatron_find(&line, words) != NULL)
            return true;
    return false;
}

/* Ranks and settings that the configuration leaves open and another line of the log has. */
static void take_ranks(log_reader *reader)
{
    unsigned long long devices = number_in_log(reader, "Num_devices: ");
    const unsigned long long listed = ranks_of_mesh(reader);
    const unsigned long long shards = listed > 0 ? listed : number_in_log(reader, "dp_shard=");
    const unsigned long long copies = listed > 0 ? 1 : number_in_log(reader, "dp_replicate=");
    if (marks[reader->mark].framework == ST_TORCHTITAN && shards > 0)
        reader->carried[reader->carried_count++] = st_arena_printf(
            reader->arena, ST_KEY_PARALLEL_DP "=%llu", shards * (copies > 0 ? copies : 1));
    if (devices == 0)
        devices = number_in_log(reader, "world size: ");
    if (devices == 0)
        devices = number_in_log(reader, "world_size=");
    if (marks[reader->mark].kind == LOG_PARAMS) {
        reader->carried[reader->carried_count++] = ST_KEY_STACK "=maxtext";
        if (has_line(reader, "Config param decoder_layer_input: offload"))
            reader->carried[reader->carried_count++] = ST_KEY_OFFLOAD_ACTIVATIONS "=1";
    }
    if (marks[reader->mark].kind == LOG_PARAMS && devices > 0)
        st_buffer_printf(&reader->text, " --world-size %llu", devices);
    if (marks[reader->mark].framework == ST_MEGATRON_BRIDGE && devices > 0)
        st_buffer_printf(&reader->text, "world_size: %llu\n", devices);
}

/* ---- the import ---- */

static st_status import_log(log_reader *reader, st_buffer *job)
{
    const st_import_request *request = reader->request;
    find_configuration(reader);
    if (reader->mark == ST_COUNT(marks))
        return st_fail(reader->errors, ST_ERR_NAME, (st_place){.file = request->file},
                       "the log has no configuration" ST_EXPECTED
                       "arguments of Megatron-LM, a configuration of Megatron-Bridge, NeMo or "
                       "torchtitan (--debug.print_config), DeepSpeed's JSON, or MaxText's "
                       "'Config param' lines" ST_HINT
                       "write a job with 'measured: {step_time: ...}' instead");
    const log_kind kind = marks[reader->mark].kind;
    const st_framework framework = marks[reader->mark].framework;
    st_import_request with = *request;
    if (kind == LOG_DUMP) {
        static const char *const stacks[] = {ST_KEY_STACK "=megatron-core",
                                             ST_KEY_STACK "=deepspeed"};
        megatron_line line = {0};
        with.text = reader->log.text;
        with.length = reader->log.length;
        with.carried = &stacks[0];
        with.carried_count = 1;
        for (size_t offset = 0; megatron_next_line(&reader->log, &offset, &line);)
            if (megatron_find(&line, " deepspeed ..") != NULL &&
                megatron_find(&line, "True") != NULL)
                with.carried = &stacks[1];
        return st_framework_import(framework, &with, job, reader->errors);
    }
    if (reader->found > 1)
        (void)st_report(reader->errors, ST_SEVERITY_WARNING, ST_ERR_VALUE,
                        (st_place){.file = request->file, .line = reader->line},
                        "the log holds %zu runs; only the last one, from this line on, counts",
                        reader->found);
    st_status status = kind == LOG_JSON   ? take_json(reader)
                       : kind == LOG_YAML ? take_yaml(reader)
                                          : take_params(reader);
    if (status == ST_OK && kind == LOG_YAML && framework == ST_MEGATRON)
        status = nemo_options(reader);
    if (status != ST_OK)
        return status;
    take_ranks(reader);
    if (reader->text.failed)
        return st_out_of_memory(reader->errors);
    /* Steps of runs before the last one do not count: their lines are blank. */
    st_import_request times = reader->log;
    char *late = st_arena_copy(reader->arena, reader->log.text, reader->log.length);
    if (late == NULL)
        return st_out_of_memory(reader->errors);
    for (size_t i = 0; i < reader->start; i++)
        late[i] = late[i] == '\n' ? '\n' : ' ';
    times.text = late;
    with.text = reader->text.data;
    with.length = reader->text.length;
    with.log = &times;
    with.what = marks[reader->mark].what;
    with.name_of = kind == LOG_PARAMS                             ? maxtext_name
                   : framework == ST_DEEPSPEED                    ? no_name
                   : kind == LOG_YAML && framework == ST_MEGATRON ? nemo_name
                                                                  : NULL;
    with.carried = reader->carried;
    with.carried_count = reader->carried_count;
    return st_framework_import(framework, &with, job, reader->errors);
}

st_status st_log_import(const st_import_request *request, st_buffer *job, st_errors *errors)
{
    st_arena *arena = st_arena_create();
    log_reader reader = {.request = request, .arena = arena, .errors = errors};
    if (arena == NULL)
        return st_out_of_memory(errors);
    st_status status = clean(&reader) ? import_log(&reader, job) : st_out_of_memory(errors);
    st_buffer_free(&reader.text);
    st_arena_destroy(arena);
    return status;
}

bool st_is_log(const char *text, size_t length)
{
    const st_import_request request = {.text = text, .length = length};
    megatron_line line = {0};
    for (size_t offset = 0; megatron_next_line(&request, &offset, &line);)
        if (mark_of(&line) < ST_COUNT(marks) || megatron_is_step(&line))
            return true;
    return false;
}
