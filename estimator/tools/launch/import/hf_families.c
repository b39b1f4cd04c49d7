/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The architectures that are read, and those that are refused with a reason. A line states what the
 * architecture's class fixes or assumes where a file is silent; nothing here is a guess about an
 * architecture that is not listed.
 */
#include "launch/import/hf.h"
#include "base/word_sets.h"
#include "steptime/keys.h"

enum {
    LLAMA = HF_GATED, /* RMS norm, own output layer */
    GEMMA = HF_GATED | HF_TIED,
    GPT = HF_LAYER_NORM | HF_TIED,
    NEOX = HF_LAYER_NORM
};

static const hf_family families[] = {
    {"aquila bamba bitnet chameleon cwm emu3_text_model falcon_h1 glm_ocr_text granite helium "
     "hunyuan hunyuan_v1_dense "
     "hunyuan_vl_text hyperclovax internlm internlm2 internlm3 llama olmo2 olmo3 olmo_hybrid qwen3 "
     "qwen3_vl_text seed_oss solar",
     LLAMA, HF_BIAS_FIELD, HF_ROTARY},
    {"aria_text bailing_moe bailing_moe_v2 deepseek dots1 flex_olmo granitemoe granitemoeshared "
     "hunyuan_v1_moe hy_v3 laguna mellum olmoe qwen3_moe qwen3_omni_moe_text qwen3_vl_moe_text "
     "solar_open",
     LLAMA | HF_MOE, HF_BIAS_FIELD, HF_ROTARY},
    {"chatglm glm glm4 glm4v_text mimo qwen2 qwen2_5_omni_text qwen2_5_vl qwen2_5_vl_text qwen2_vl "
     "qwen2_vl_text",
     LLAMA, HF_QKV_BIAS, HF_ROTARY},
    {"baichuan exaone exaone4 jamba ministral ministral3 mistral phi3 phi3_v xverse", LLAMA,
     HF_NO_BIAS, HF_ROTARY},
    {"ernie4_5 gemma gemma2 gemma3_text gemma3n_text minicpm paddleocr_vl paddleocr_vl_text "
     "smollm3 "
     "vaultgemma voxtral_realtime_text",
     GEMMA, HF_BIAS_FIELD, HF_ROTARY},
    {"deepseek_v2 deepseek_v3 deepseek_v32 glm4_moe_lite glm_moe_dsa kimi_k2 mistral4",
     LLAMA | HF_MOE | HF_MLA, HF_BIAS_FIELD, HF_ROTARY},
    {"apertus arcee mamba2 nanochat nemotron_h", 0, HF_BIAS_FIELD, HF_ROTARY},
    {"codegen fuyu gpt_neox gptj persimmon phi", NEOX, HF_BIAS, HF_ROTARY},
    {"gpt2 gpt_bigcode gpt_neo openai-gpt", GPT, HF_BIAS, HF_LEARNED},
    {"exaone_moe minimax_m2 mixtral", LLAMA | HF_MOE, HF_NO_BIAS, HF_ROTARY},
    {"glm4_moe glm4v_moe_text qwen2_moe", LLAMA | HF_MOE, HF_QKV_BIAS, HF_ROTARY},
    {"minimax minimax_m1 minimax_text_01", LLAMA | HF_MOE | HF_LIGHTNING, HF_NO_BIAS, HF_ROTARY},
    {"cohere cohere2", HF_LAYER_NORM | HF_GATED | HF_TIED, HF_BIAS_FIELD, HF_ROTARY},
    {"olmo stablelm", NEOX | HF_GATED, HF_BIAS_FIELD, HF_ROTARY},
    {"phi4_multimodal phi4mm", GEMMA, HF_NO_BIAS, HF_ROTARY},
    {"qwen3_5_moe_text qwen3_next", LLAMA | HF_MOE | HF_GATED_ATTENTION, HF_BIAS_FIELD, HF_ROTARY},
    {"afmoe", LLAMA | HF_MOE | HF_GATED_ATTENTION, HF_NO_BIAS, HF_ROTARY},
    {"bloom ctrl xglm", GPT, HF_BIAS, HF_ROTARY}, /* positions are not learned */
    {"gpt_neox_japanese", GPT, HF_NO_BIAS, HF_ROTARY},
    {"cohere2_moe", HF_LAYER_NORM | HF_GATED | HF_TIED | HF_MOE, HF_BIAS_FIELD, HF_ROTARY},
    {"dbrx", HF_LAYER_NORM | HF_GATED | HF_MOE, HF_NO_BIAS, HF_ROTARY},
    {"deci nemotron-nas", LLAMA, HF_BIAS_FIELD, HF_ROTARY},
    {"deepseek_v4", LLAMA | HF_MOE | HF_SHARED_KV, HF_BIAS_FIELD, HF_ROTARY},
    {"ernie4_5_moe", GEMMA | HF_MOE, HF_BIAS_FIELD, HF_ROTARY},
    {"falcon", GPT | HF_FALCON, HF_BIAS_FIELD, HF_ROTARY},
    {"gpt_oss", LLAMA | HF_MOE | HF_SINKS, HF_BIAS, HF_ROTARY},
    {"granite_swa", GEMMA | HF_SINKS, HF_BIAS_FIELD, HF_ROTARY},
    {"granitemoehybrid", LLAMA | HF_EXPERT_FFN, HF_BIAS_FIELD, HF_ROTARY},
    {"grok-1", GEMMA | HF_MOE, HF_NO_BIAS, HF_ROTARY},
    {"jais2", HF_LAYER_NORM, HF_BIAS, HF_ROTARY},
    {"kimi_linear", LLAMA | HF_MOE | HF_MLA | HF_CHANNEL_DELTA, HF_NO_BIAS, HF_ROTARY},
    {"lfm2", GEMMA | HF_CONVOLUTION, HF_NO_BIAS, HF_ROTARY},
    {"lfm2_moe", GEMMA | HF_MOE | HF_CONVOLUTION, HF_NO_BIAS, HF_ROTARY},
    {"longcat_flash", LLAMA | HF_MOE | HF_MLA, HF_BIAS_FIELD, HF_ROTARY},
    {"llama4_text", LLAMA | HF_DENSE_FFN_MLP, HF_BIAS_FIELD, HF_ROTARY},
    {"mimo_v2_flash", LLAMA | HF_MOE | HF_SINKS, HF_BIAS_FIELD, HF_ROTARY},
    {"modernbert-decoder", HF_GATED | HF_TIED | HF_LAYER_NORM, HF_BIAS_FIELD, HF_ROTARY},
    {"mpt", GPT | HF_ALIBI_FIELD, HF_BIAS_FIELD, HF_LEARNED},
    {"nemotron", NEOX, HF_BIAS_FIELD, HF_ROTARY},
    {"biogpt opt", GPT, HF_BIAS, HF_LEARNED_OFFSET},
    {"orion", NEOX | HF_GATED, HF_NO_BIAS, HF_ROTARY},
    {"phimoe", NEOX | HF_GATED | HF_MOE, HF_BIAS_FIELD, HF_ROTARY},
    {"qwen3_5_text", LLAMA | HF_GATED_ATTENTION, HF_BIAS_FIELD, HF_ROTARY},
    {"recurrent_gemma", GEMMA | HF_RECURRENT, HF_BIAS_FIELD, HF_ROTARY},
    {"starcoder2", GPT, HF_BIAS_FIELD, HF_ROTARY},
    {"step3_text", LLAMA | HF_MOE, HF_NO_BIAS, HF_ROTARY},
    {"youtu", GEMMA | HF_MLA, HF_BIAS_FIELD, HF_ROTARY},
};

/* Architectures whose experts are never as wide as intermediate_size, which is of dense layers. */
static const char own_expert_width[] =
    "afmoe bailing_moe bailing_moe_v2 dots1 ernie4_5_moe exaone_moe glm4_moe glm4v_moe_text "
    "kimi_linear lfm2_moe mimo_v2_flash step3_text qwen2_moe qwen3_5_moe_text qwen3_moe qwen3_next "
    "qwen3_omni_moe_text qwen3_vl_moe_text";

/* Widths and counts of a file that its architecture does not use, or whose part is estimated
 * otherwise, which a note says. */
static const struct {
    const char *names;
    const char *fields;
    const char *note;
} unused[] = {
    {"granitemoehybrid", "intermediate_size", NULL}, /* without experts */
    {"minimax_m2", "mlp_intermediate_size", NULL},
    {"chameleon", "model_parallel_size", NULL},
    {"fuyu", "image_size patch_size num_channels", NULL},             /* patches are tokens */
    {"longcat_flash", "num_hidden_layers num_key_value_heads", NULL}, /* two in a layer */
    {"longcat_flash", "zero_expert_type", NULL},
    {"mimo_v2_flash", "swa_head_dim swa_num_attention_heads swa_num_key_value_heads swa_v_head_dim",
     "Layers with a window are estimated with the heads of the others (swa_*)."},
    {"recurrent_gemma", "conv1d_width", NULL}, /* too few to count */
    {"kimi_linear", "attn_res_block_size",
     "Left out: attention residuals (attn_res_block_size), which mix outputs of blocks."},
};

const char *hf_unused(const hf_reader *reader, const char *field, bool *is_unused)
{
    for (size_t i = 0; i < ST_COUNT(unused); i++)
        if (st_has_word(unused[i].names, reader->architecture) &&
            st_has_word(unused[i].fields, field)) {
            *is_unused = true;
            return unused[i].note;
        }
    *is_unused = false;
    return NULL;
}

bool hf_has_expert_width(const hf_reader *reader)
{
    return st_has_word(own_expert_width, reader->architecture);
}

/* What files leave out anywhere, as in JambaConfig, GptOssConfig ... of transformers. */
static const struct {
    const char *family;
    const char *name;
    uint64_t value;
} defaults[] = {
    {"jamba", ST_KEY_MODEL_MAMBA_STATE, 16},
    {"jamba", ST_KEY_MODEL_EXPERTS, 16},
    {"jamba", ST_KEY_MODEL_TOP_K, 2},
    {"jamba", "attn_layer_period", 8},
    {"jamba", "attn_layer_offset", 4},
    {"jamba", "expert_layer_period", 2},
    {"jamba", "expert_layer_offset", 1},
    {"gpt_oss", ST_KEY_MODEL_HEAD_DIM, 64},
    {"qwen3", ST_KEY_MODEL_HEAD_DIM, 128},
    {"qwen3_next", ST_KEY_MODEL_HEAD_DIM, 256},
    {"gemma", ST_KEY_MODEL_HEAD_DIM, 256},
    {"gemma2", ST_KEY_MODEL_HEAD_DIM, 256},
    {"recurrent_gemma", ST_KEY_MODEL_WINDOW, 2048},
};

/* Defaults of the classes whose files inside of others leave them out. */
static const char *const inner_keys[] = {
    ST_KEY_MODEL_LAYERS,   ST_KEY_MODEL_HIDDEN, ST_KEY_MODEL_HEADS,      ST_KEY_MODEL_KV_HEADS,
    ST_KEY_MODEL_HEAD_DIM, ST_KEY_MODEL_FFN,    ST_KEY_MODEL_VOCABULARY, ST_KEY_MODEL_WINDOW};
static const struct {
    const char *family;
    uint64_t values[ST_COUNT(inner_keys)];
} inner_defaults[] = {
    {"gemma3_text", {26, 2304, 8, 4, 256, 9216, 262208, 4096}},
    {"llama", {32, 4096, 32, 0, 0, 11008, 32000, 0}},
    {"mistral", {32, 4096, 32, 8, 0, 14336, 32000, 0}},
};

/* What is refused, and why. */
static const struct {
    const char *names;
    const char *reason;
} refusals[] = {
    {"aimv2 align altclip beit bit blip chinese_clip clip clip_vision_model clipseg "
     "conditional_detr convnext convnextv2 cvt data2vec-vision deformable_detr deit depth_anything "
     "depth_pro detr dinov2 dinov2_with_registers dinov3_vit donut-swin dpt efficientformer "
     "efficientnet flava focalnet glpn grounding-dino groupvit hiera ijepa imagegpt levit "
     "mask2former "
     "maskformer mobilenet_v1 mobilenet_v2 mobilevit oneformer owlv2 owlvit perceiver poolformer "
     "pvt regnet resnet rt_detr rt_detr_v2 sam sam2 sam3 segformer siglip siglip2 "
     "siglip_vision_model superpoint swin swin2sr swinv2 table-transformer timesformer "
     "timm_wrapper upernet videomae vit vit_mae vit_msn vitmatte vitpose vivit yolos zoedepth",
     "a vision model"},
    {"audio-spectrogram-transformer bark clap csm dac data2vec-audio dia encodec hubert "
     "kyutai_speech_to_text mimi moonshine moshi musicgen musicgen_melody parakeet seamless_m4t "
     "seamless_m4t_v2 sew speech_to_text speecht5 unispeech unispeech-sat vits wav2vec2 "
     "wav2vec2-bert wav2vec2-conformer wavlm whisper",
     "a speech model"},
    {"albert bert camembert convbert deberta deberta-v2 distilbert electra esm ernie longformer "
     "mobilebert modernbert mpnet nomic_bert roberta xlm-roberta xlm-roberta-xl",
     "an encoder"},
    {"bart blenderbot fsmt led longt5 m2m_100 marian mbart mt5 pegasus switch_transformers t5 "
     "t5gemma udop umt5",
     "an encoder and a decoder"},
    {"ernie4_5_moe_vl ernie4_5_vl_moe ernie4_5_vl_moe_text",
     "a model whose experts of text and of images differ in width, which is not modelled"},
    {"blt blt_patcher", "a model of bytes that it groups itself, which is not modelled"},
    {"plamo2 rwkv rwkv5 rwkv6 rwkv7 xlstm zamba zaya", "a model with recurrent layers"},
    {"falcon_mamba mamba", "a model with recurrent layers of Mamba-1, which are not modelled"},
    {"zamba2",
     "a model with recurrent layers whose attention shares its weights between layers and "
     "takes the embedding next to the hidden state, with adapters for each layer: the "
     "sheet lacks the formula of shared blocks"},
    {"gemma4 gemma4_text gemma4_unified",
     "a model whose layers with full attention have wider heads (global_head_dim) and other key "
     "heads than those with a window: the sheet lacks the formula of a second shape of attention"},
    {"step3p5 step3p7",
     "a model whose layers with a window have another number of heads "
     "(attention_other_setting): the sheet lacks the formula of a second shape of attention"},
    {"openelm", "a model whose layers differ from each other in heads and width: the sheet lacks "
                "the formula of layers of their own shape"},
    {"jetmoe", "a model with experts outside its MLP, which are not modelled"},
    {"cpmant diffllama doge minimax_m3_vl reformer xlnet",
     "a model with a kind of attention that is not modelled"},
    {"bailing_hybrid bailing_moe_linear",
     "a model with lightning attention, which is not modelled"},
    {"mllama mllama_text_model idefics", "a model with cross-attention to images"},
};

const hf_family *hf_family_find(const char *name)
{
    for (size_t i = 0; i < ST_COUNT(families); i++)
        if (st_has_word(families[i].names, name))
            return &families[i];
    return NULL;
}

uint64_t hf_class_default(const hf_reader *reader, const char *name)
{
    const char *family = reader->architecture;
    for (size_t i = 0; i < ST_COUNT(defaults); i++)
        if (strcmp(defaults[i].family, family) == 0 && strcmp(defaults[i].name, name) == 0)
            return defaults[i].value;
    for (size_t i = 0; reader->config != reader->top && i < ST_COUNT(inner_defaults); i++)
        for (size_t j = 0; j < ST_COUNT(inner_keys); j++)
            if (strcmp(inner_defaults[i].family, family) == 0 && strcmp(inner_keys[j], name) == 0)
                return inner_defaults[i].values[j];
    return 0;
}

bool st_import_hf_architecture(size_t index, char name[ST_IMPORT_HF_NAME])
{
    for (size_t i = 0; i < ST_COUNT(families); i++)
        for (const char *word = families[i].names; *word != '\0'; index--) {
            size_t length = strcspn(word, " ");
            if (index == 0)
                (void)snprintf(name, ST_IMPORT_HF_NAME, "%.*s", (int)length, word);
            if (index == 0)
                return true;
            word += length;
            word += strspn(word, " ");
        }
    return false;
}

const char *hf_refusal(const char *name)
{
    for (size_t i = 0; i < ST_COUNT(refusals); i++)
        if (st_has_word(refusals[i].names, name))
            return refusals[i].reason;
    return NULL;
}
