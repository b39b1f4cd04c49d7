/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shapes of torchtitan's flavors, as torchtitan/models/MODEL/__init__.py of 0.2.2 has them. Rows
 * are data: keys of the job, with those of the model before those of the flavor.
 */
#include "launch/frameworks/settings.h"

#include "steptime/keys.h"

#include <string.h>

static const struct {
    const char *model;
    const char *keys;
} models[] = {
    {"llama3",
     "gated=true norm=rms bias=false dropout=false tied=false vocabulary=128256 positions=0"},
    {"qwen3",
     "gated=true norm=rms bias=false dropout=false tied=false vocabulary=151936 positions=0 "
     "head_dim=128 kv_heads=8"},
    {"deepseek_v3",
     "gated=true norm=rms bias=false dropout=false tied=false positions=0 kv_lora=512 rope_dim=64 "
     "head_dim=128 v_dim=128"},
    {"gpt_oss",
     "gated=true norm=rms bias=true dropout=false tied=false vocabulary=201088 positions=0 "
     "head_dim=64 kv_heads=8 hidden=2880 heads=64 ffn=2880 top_k=4 sinks=true "
     "window=128"},
};

static const struct {
    const char *model;
    const char *flavor;
    const char *keys;
} flavors[] = {
    {"llama3", "8B", "layers=32 hidden=4096 heads=32 kv_heads=8 ffn=14336"},
    {"llama3", "70B", "layers=80 hidden=8192 heads=64 kv_heads=8 ffn=28672"},
    {"llama3", "405B", "layers=126 hidden=16384 heads=128 kv_heads=8 ffn=53248"},
    {"qwen3", "0.6B", "layers=28 hidden=1024 heads=16 ffn=3072 tied=true"},
    {"qwen3", "1.7B", "layers=28 hidden=2048 heads=16 ffn=6144 tied=true"},
    {"qwen3", "4B", "layers=36 hidden=2560 heads=32 ffn=9728 tied=true"},
    {"qwen3", "8B", "layers=36 hidden=4096 heads=32 ffn=12288"},
    {"qwen3", "14B", "layers=40 hidden=5120 heads=40 ffn=17408"},
    {"qwen3", "32B", "layers=64 hidden=5120 heads=64 ffn=25600"},
    {"qwen3", "30B-A3B",
     "layers=48 hidden=2048 heads=32 kv_heads=4 ffn=6144 experts=128 top_k=8 expert_ffn=768"},
    {"qwen3", "235B-A22B",
     "layers=94 hidden=4096 heads=64 kv_heads=4 ffn=12288 experts=128 top_k=8 expert_ffn=1536"},
    {"deepseek_v3", "16B",
     "layers=27 hidden=2048 heads=16 ffn=10944 vocabulary=102400 experts=64 top_k=6 "
     "expert_ffn=1408 shared_ffn=2816 dense_layers=1"},
    {"deepseek_v3", "236B",
     "layers=60 hidden=5120 heads=128 ffn=12288 vocabulary=102400 experts=160 top_k=6 "
     "expert_ffn=1536 shared_ffn=3072 dense_layers=1 q_lora=1536 expert_groups=8 top_groups=3"},
    {"deepseek_v3", "671B",
     "layers=61 hidden=7168 heads=128 ffn=18432 vocabulary=129280 experts=256 top_k=8 "
     "expert_ffn=2048 shared_ffn=2048 dense_layers=3 q_lora=1536 expert_groups=8 top_groups=4"},
    {"gpt_oss", "20b", "layers=24 experts=32 pattern=(ye)*12"},
    {"gpt_oss", "120b", "layers=36 experts=128 pattern=(ye)*18"},
};

static void put_keys(megatron_run *options, const char *keys, const char *origin, int line)
{
    for (const char *word = keys; *word != '\0';) {
        const size_t length = strcspn(word, " ");
        const size_t name = strcspn(word, "=");
        st_draft_put(
            options->draft, st_draft_text(options->draft, "model.%.*s", (int)name, word), line,
            st_draft_text(options->draft, "%.*s", (int)(length - name - 1), word + name + 1),
            origin);
        word += length + strspn(word + length, " ");
    }
}

/* Variants with other kernels of attention have the same shape. */
static size_t flavor_length(const char *flavor)
{
    static const char *const kinds[] = {"_flex", "_varlen"};
    for (size_t i = 0; i < ST_COUNT(kinds); i++)
        if (strstr(flavor, kinds[i]) != NULL)
            return (size_t)(strstr(flavor, kinds[i]) - flavor);
    return strlen(flavor);
}

static void refuse(megatron_run *options, const megatron_argument *flavor, const char *model)
{
    st_buffer known = {0};
    for (size_t i = 0; i < ST_COUNT(flavors); i++)
        if (strcmp(flavors[i].model, model) == 0)
            st_buffer_printf(&known, "%s%s", known.length > 0 ? " " : "", flavors[i].flavor);
    const char *list = st_draft_keep(options->draft, &known);
    ST_NOTE(options->draft, ST_ERR_NAME, megatron_place(options, flavor),
            "the shape of flavor '%.60s' of model '%.40s' is not known" ST_EXPECTED "%s" ST_HINT
            "give the shape with --set model.layers=..., --set model.hidden=... and so on",
            flavor != NULL ? flavor->value : "", model,
            list[0] != '\0' ? list : "a model of llama3 qwen3 deepseek_v3 gpt_oss");
}

void fw_put_flavor(megatron_run *options)
{
    st_draft *draft = options->draft;
    const char *model = megatron_text(options, ST_KEY_MODEL_NAME); /* named alike */
    const megatron_argument *flavor = megatron_get(options, "model.flavor");
    const char *name = flavor != NULL ? flavor->value : "";
    const int line = flavor != NULL ? flavor->line : 0;
    const size_t length = flavor_length(name);
    if (options->is_export || model[0] == '\0' || st_draft_is_given(draft, ST_KEY_MODEL_LAYERS))
        return;
    for (size_t i = 0; i < ST_COUNT(flavors); i++) {
        if (strcmp(flavors[i].model, model) != 0 || strlen(flavors[i].flavor) != length ||
            strncmp(flavors[i].flavor, name, length) != 0)
            continue;
        const char *origin = st_draft_text(draft, "flavor %.20s of %.20s", name, model);
        for (size_t j = 0; j < ST_COUNT(models); j++)
            if (strcmp(models[j].model, model) == 0)
                put_keys(options, models[j].keys, origin, line);
        put_keys(options, flavors[i].keys, origin, line);
        st_draft_put(draft, ST_KEY_MODEL_NAME, line,
                     st_draft_text(draft, "%.20s-%.*s", model, (int)length, name), origin);
        return;
    }
    refuse(options, flavor, model);
}
