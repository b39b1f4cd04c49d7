/* SPDX-License-Identifier: Apache-2.0 */
/* Settings in the syntax of a framework: a shell script, YAML, TOML, JSON. */
#include "base/text.h"
#include "launch/frameworks/settings.h"
#include "launch/import/job_draft.h"

#include <inttypes.h>
#include <string.h>

static void write_head(const fw_file *file, st_buffer *buffer)
{
    st_comment_write(file->title, buffer);
    for (size_t i = 0; i < file->note_count; i++) {
        st_buffer_text(buffer, "#\n");
        st_comment_write(file->notes[i], buffer);
    }
    if (file->carried_count > 0)
        st_buffer_text(buffer, "#\n");
    for (size_t i = 0; i < file->carried_count; i++)
        st_buffer_printf(buffer, "# steptime: %s\n", file->carried[i]);
}

/* ---- command lines ---- */

static void write_option(const char *name, const char *value, st_buffer *buffer)
{
    st_buffer_text(buffer, " --");
    for (const char *c = name; *c != '\0'; c++)
        st_buffer_append(buffer, *c == '_' ? "-" : c, 1);
    if (strcmp(value, "True") != 0) {
        st_buffer_text(buffer, " ");
        if (megatron_is_list(name)) /* several words, each an argument of its own */
            st_buffer_text(buffer, value);
        else
            st_text_shell(value, buffer);
    }
}

static bool is_launcher(const char *name)
{
    return strcmp(name, "nproc_per_node") == 0 || strcmp(name, "nnodes") == 0 ||
           strcmp(name, "num_gpus") == 0 || strcmp(name, "num_nodes") == 0;
}

/* Mamba blocks have a program of their own, which asks for the layers' specification. */
#define HYBRID_SCRIPT                                                                              \
    " pretrain_mamba.py \\\n"                                                                      \
    "    --spec megatron.core.models.mamba.mamba_layer_specs mamba_stack_spec"

static void write_script(const fw_file *file, const megatron_run *settings, st_buffer *buffer)
{
    st_buffer_text(buffer, "#!/bin/sh\n");
    write_head(file, buffer);
    const fw_ranks ranks = file->ranks;
    st_buffer_text(buffer, "torchrun");
    if (ranks.per_node > 0)
        st_buffer_printf(buffer, " --nproc-per-node %" PRIu64 " --nnodes %" PRIu64, ranks.per_node,
                         ranks.nodes);
    if (ranks.nodes > 1)
        st_buffer_text(buffer, " --node-rank \"$NODE_RANK\" --master-addr \"$MASTER_ADDR\"");
    st_buffer_text(buffer, ST_HAS(settings->arguments, settings->count, name, "is_hybrid_model")
                               ? HYBRID_SCRIPT
                               : " pretrain_gpt.py");
    for (size_t i = 0; i < settings->count; i++) {
        const megatron_argument *setting = &settings->arguments[i];
        const char *option = megatron_option_against(setting->name, setting->value);
        if (is_launcher(setting->name))
            continue;
        st_buffer_text(buffer, " \\\n   ");
        if (option != NULL)
            write_option(option, "True", buffer);
        else
            write_option(setting->name, setting->value, buffer);
    }
    st_buffer_text(buffer, " \\\n    \"$@\"\n");
}

/* ---- sections ---- */

static void write_scalar(const char *value, st_buffer *buffer)
{
    bool number = value[0] != '\0' && strspn(value, "0123456789.e+-") == strlen(value);
    if (strcmp(value, "True") == 0 || strcmp(value, "False") == 0)
        st_buffer_text(buffer, value[0] == 'T' ? "true" : "false");
    else if (number || value[0] == '[')
        st_buffer_text(buffer, value);
    else
        st_buffer_json_string(buffer, value);
}

/* "parallelism." of "parallelism.tensor_parallel_degree"; 0 without a section. */
static size_t section_of(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot != NULL ? (size_t)(dot - name) : 0;
}

static bool same_section(const char *a, const char *b)
{
    return section_of(a) == section_of(b) && memcmp(a, b, section_of(a)) == 0;
}

/* The setting is the first of its section. */
static bool is_first(const megatron_run *settings, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (same_section(settings->arguments[i].name, settings->arguments[index].name))
            return false;
    return true;
}

typedef enum section_style { AS_YAML, AS_TOML, AS_JSON } section_style;

static void write_members(const megatron_run *settings, size_t first, section_style style,
                          st_buffer *buffer)
{
    bool later = false;
    for (size_t i = first; i < settings->count; i++) {
        const megatron_argument *setting = &settings->arguments[i];
        size_t section = section_of(setting->name);
        const char *name = setting->name + section + (section > 0 ? 1 : 0);
        if (!same_section(setting->name, settings->arguments[first].name))
            continue;
        st_buffer_text(buffer, !later ? "" : style == AS_JSON ? ", " : "\n");
        later = true;
        if (style == AS_JSON)
            st_buffer_printf(buffer, "\"%s\": ", name);
        else
            st_buffer_printf(buffer, "%s%s%s", style == AS_YAML && section > 0 ? "  " : "", name,
                             style == AS_TOML ? " = " : ": ");
        if (style == AS_YAML && (megatron_is_list(name) || strcmp(name, "window_size") == 0)) {
            /* "core_attn mlp" and "128,0" as the lists that they are. */
            const char *value = setting->value;
            bool numbers = value[0] >= '0' && value[0] <= '9';
            const char *next = "[";
            for (size_t length; (value += strspn(value, " ,"), length = strcspn(value, " ,")) > 0;
                 value += length) {
                st_buffer_printf(buffer, "%s%s%.*s%s", next, numbers ? "" : "\"", (int)length,
                                 value, numbers ? "" : "\"");
                next = ", ";
            }
            st_buffer_text(buffer, "]");
        } else {
            write_scalar(setting->value, buffer);
        }
    }
}

/* ---- DeepSpeed ---- */

static bool is_launch(const char *name)
{
    return strncmp(name, "launch.", 7) == 0;
}

static void write_texts(const char *const *texts, size_t count, st_buffer *buffer)
{
    st_buffer_text(buffer, "[");
    for (size_t i = 0; i < count; i++) {
        st_buffer_text(buffer, i == 0 ? "\n      " : ",\n      ");
        st_buffer_json_string(buffer, texts[i]);
    }
    st_buffer_text(buffer, count > 0 ? "\n    ]" : "]");
}

void fw_write(const fw_file *file, const megatron_run *settings, st_buffer *buffer)
{
    if (file->framework == ST_MEGATRON) {
        write_script(file, settings, buffer);
        return;
    }
    if (file->framework == ST_DEEPSPEED) {
        st_buffer_text(buffer, "{\n");
        for (size_t i = 0; i < settings->count; i++) {
            const char *name = settings->arguments[i].name;
            size_t section = section_of(name);
            if (is_launch(name) || !is_first(settings, i)) {
                if (section > 0 || is_launch(name))
                    continue;
            }
            if (section == 0) {
                st_buffer_printf(buffer, "  \"%s\": ", name);
                write_scalar(settings->arguments[i].value, buffer);
            } else {
                st_buffer_printf(buffer, "  \"%.*s\": {", (int)section, name);
                write_members(settings, i, AS_JSON, buffer);
                st_buffer_text(buffer, "}");
            }
            st_buffer_text(buffer, ",\n");
        }
        st_buffer_quoted(buffer, "  \"_steptime\": {\n    \"about\": ", file->title,
                         ",\n    \"notes\": ");
        write_texts(file->notes, file->note_count, buffer);
        st_buffer_text(buffer, ",\n    \"launch\": ");
        st_buffer line = {0};
        st_buffer_text(&line, "deepspeed");
        if (file->ranks.per_node > 0)
            st_buffer_printf(&line, " --num_gpus %" PRIu64 " --num_nodes %" PRIu64,
                             file->ranks.per_node, file->ranks.nodes);
        st_buffer_text(&line, " pretrain_gpt.py --deepspeed --deepspeed_config FILE");
        for (size_t i = 0; i < settings->count; i++)
            if (is_launch(settings->arguments[i].name) &&
                !is_launcher(settings->arguments[i].name + 7))
                write_option(settings->arguments[i].name + 7, settings->arguments[i].value, &line);
        if (line.data != NULL)
            st_buffer_json_string(buffer, line.data);
        st_buffer_end(&line, &buffer->failed);
        st_buffer_text(buffer, ",\n    \"carried\": ");
        write_texts(file->carried, file->carried_count, buffer);
        st_buffer_text(buffer, "\n  }\n}\n");
        return;
    }
    write_head(file, buffer);
    /* TOML needs options without a section first. */
    const bool is_toml = file->framework == ST_TORCHTITAN;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < settings->count; i++) {
            const char *name = settings->arguments[i].name;
            size_t section = section_of(name);
            if (!is_first(settings, i) || (section > 0) != (pass == 1))
                continue;
            if (section > 0)
                st_buffer_printf(buffer, "%s%.*s%s", is_toml ? "\n[" : "", (int)section, name,
                                 is_toml ? "]\n" : ":\n");
            write_members(settings, i, is_toml ? AS_TOML : AS_YAML, buffer);
            st_buffer_text(buffer, "\n");
        }
}
