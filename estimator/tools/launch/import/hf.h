/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hugging Face's config.json: the table of architectures, and how its fields are found.
 *
 * Names, places and defaults of fields differ by architecture; the table has what a class defines
 * as a constant and its files leave out.
 */
#ifndef STEPTIME_IMPORT_HF_H
#define STEPTIME_IMPORT_HF_H

#include "launch/import/job_draft.h"
#include "base/json_read.h"

typedef enum hf_bias {
    HF_NO_BIAS,
    HF_BIAS,
    HF_QKV_BIAS,  /* in the attention's inputs alone, too few to count */
    HF_BIAS_FIELD /* attention_bias, mlp_bias, use_bias, ... say */
} hf_bias;

typedef enum hf_positions {
    HF_ROTARY,        /* or ALiBi: no table */
    HF_LEARNED,       /* max_position_embeddings rows */
    HF_LEARNED_OFFSET /* two more, as in OPT */
} hf_positions;

enum {
    HF_GATED = 1,             /* the MLP has a gate */
    HF_TIED = 2,              /* tie_word_embeddings where the file does not say */
    HF_LAYER_NORM = 4,        /* else RMS norm */
    HF_MOE = 8,               /* always has experts */
    HF_MLA = 16,              /* always has latent attention */
    HF_DENSE_FFN_MLP = 32,    /* Llama 4: intermediate_size is the experts', shared one included */
    HF_FALCON = 64,           /* num_kv_heads counts only with new_decoder_architecture */
    HF_ALIBI_FIELD = 128,     /* learned positions unless the file says alibi */
    HF_SINKS = 256,           /* attention has sinks */
    HF_GATED_ATTENTION = 512, /* its output is gated */
    HF_SHARED_KV =
        1024, /* DeepSeek-V4: keys and values are one vector, compressed in most layers */
    HF_EXPERT_FFN = 2048,    /* Granite 4: of an expert; an MLP has shared_intermediate_size */
    HF_CHANNEL_DELTA = 4096, /* delta nets with a decay for each channel */
    HF_LIGHTNING = 8192,     /* lightning attention */
    HF_CONVOLUTION = 16384,  /* short convolutions */
    HF_RECURRENT = 32768, /* real-gated linear recurrent units; half the MLP's width is its own */
};

typedef struct hf_family {
    const char *names; /* model_type of each, with blanks between them */
    unsigned traits;
    hf_bias bias;
    hf_positions positions;
} hf_family;

/* NULL: not in the table. */
const hf_family *hf_family_find(const char *name);
/* Why an architecture is refused, "a vision model"; NULL where nothing is known of it. */
const char *hf_refusal(const char *name);

typedef struct hf_reader {
    st_draft *draft;
    st_json *top;    /* of the file */
    st_json *config; /* of the language model */
    const hf_family *family;
    const char *architecture; /* of the family, as which the file is read */
    const char *name;         /* of the architecture, as the file has it */
    bool lettered;            /* hf_hybrid_letters has been asked */
    const char *letters;      /* what it found */
} hf_reader;

/*
 * The default of a key or field that the file lacks, 0 for none: inside a multimodal model
 * transformers writes only what differs from the class's defaults.
 */
uint64_t hf_class_default(const hf_reader *reader, const char *name);

/* The architecture's experts are as wide as moe_intermediate_size alone says. */
bool hf_has_expert_width(const hf_reader *reader);

/* Whether the architecture does not use a field, and what a note says of that; NULL: nothing. */
const char *hf_unused(const hf_reader *reader, const char *field, bool *is_unused);

/* Fields that distinguish a language model from the other parts. */
#define HF_LAYERS "num_hidden_layers n_layer n_layers num_layers"
#define HF_HIDDEN "hidden_size n_embd d_model dim"

/* hf.c: every key of the model, from the fields of the language model. */
void hf_read_fields(hf_reader *reader);

/* hf_layers.c: model.pattern, .window, .delta_*, .dense_layers and .moe_every */
void hf_read_layers(hf_reader *reader);

/* hf_linear.c */
/* Whether layers may have a mixer that is neither softmax attention nor Mamba. */
bool hf_has_linear(hf_reader *reader);
/* Of an architecture that always has: its file lists them. */
bool hf_needs_linear(const hf_reader *reader);
/* Marks layers as g or d by a list that only such models have; false where there is none. */
bool hf_linear_layers(hf_reader *reader, char *mixers, size_t count);
/* model.delta_*, of a model with such layers */
void hf_put_linear(hf_reader *reader);
/* model.ffn of LFM2, which is adjusted unless the file says otherwise; false for others. */
bool hf_put_adjusted_ffn(hf_reader *reader);
/* Nemotron-NAS: the mean width of its MLPs, and key heads, from block_configs; false without them.
 */
bool hf_put_block_widths(hf_reader *reader);

/* hf_hybrid.c */
/* model.layers, which counts the blocks of a hybrid. */
void hf_put_layers(hf_reader *reader);
/* Layers of single blocks, and their Mamba-2; false where there are none. */
bool hf_read_hybrid(hf_reader *reader);
/* The letters of such layers; NULL for other models, "" if unknown. */
const char *hf_hybrid_letters(hf_reader *reader);

/* hf_blocks.c */
/* DeepSeek-V4's attention to compressed keys, with the widths of its projections. */
void hf_read_shared_kv(hf_reader *reader);
/* Sinks, gates, indexers, experts behind a projection, multi-token prediction. */
void hf_read_extras(hf_reader *reader);

/* hf_facts.c: what defines the model and changes no estimate */
void hf_read_facts(hf_reader *reader, bool qkv_bias);

/* hf_name.c: model.name, after everything else of the model */
void hf_put_name(hf_reader *reader);
/* How many parameters the sheet counts for the model of a draft; 0 if it cannot. */
double hf_count_parameters(st_draft *draft);

/* hf_encoder.c: notes the other parts of the model, which the estimate lacks, and their size */
void hf_note_other_parts(hf_reader *reader);

/* Steps into the map of the language model; false if it is not a map. */
bool hf_find_language_model(hf_reader *reader);
/* The architecture's line of the table; false where it has none or is refused. */
bool hf_find_family(hf_reader *reader);

/* RecurrentGemma: a layer is a recurrent unit or attention in a window. */
static inline bool hf_is_recurrent(const hf_reader *reader)
{
    return (reader->family->traits & HF_RECURRENT) != 0;
}

/* hf_fields.c */
/* Place of a field; NULL: the file as a whole. */
st_place hf_place(const hf_reader *reader, const st_json *node);

/*
 * The field of any of these names (separated by blanks) that has a value: in the language model's
 * map, in its attn_config or ffn_config. Two that differ are an error. Marks it as understood.
 */
st_json *hf_find(hf_reader *reader, const char *names);
/* Marks fields of these names, which mean different things, as understood. */
void hf_pass_over(hf_reader *reader, const char *names);
/* The same in the file's top, where the language model's map has none. */
st_json *hf_find_outer(hf_reader *reader, const char *names);

/* A whole number from `least` to 1e9; false where the field is missing or faulty. */
bool hf_count(hf_reader *reader, const char *names, uint64_t least, uint64_t *value);
/* The number of a node that was found. */
bool hf_number(hf_reader *reader, const st_json *node, uint64_t least, uint64_t *value);
/* The number of an unnamed entry of a list. */
bool hf_entry(hf_reader *reader, const st_json *list, const st_json *entry, uint64_t *value);
/* An entry that names one of `count` layers, numbered from `first`; *layer counts from 0. */
bool hf_layer(hf_reader *reader, const st_json *list, const st_json *entry, uint64_t first,
              uint64_t count, uint64_t *layer);
bool hf_bool(hf_reader *reader, const char *names, bool missing);
/* Refuses a list that is shorter or longer than the model: it was cut, or is another's. */
void hf_check_length(hf_reader *reader, const st_json *list, uint64_t layers);
/* Whether a node that was found is true or false; anything else is an error. */
bool hf_is_bool(hf_reader *reader, const st_json *node);

/* A field that is a count of the model, where it is needed or the file has it; its value, or 0. */
uint64_t hf_put_field(hf_reader *reader, const char *path, const char *names, bool needed);
/* A field that the model needs and the file lacks is an error, unless --set gives the key. */
void hf_missing(hf_reader *reader, const char *names, const char *path);
/* "MLP of architecture llama", where a value comes from the table. */
const char *hf_of_class(hf_reader *reader, const char *what);

/* Reports fields that nobody looked at and that shape layers by their names. */
void hf_refuse_widths(hf_reader *reader);
/* Remembers what became of each field. */
void hf_remember_keys(hf_reader *reader);
/* Fields of the language model that nobody looked at and that matter for all we know. */
const char *hf_list_unknown(hf_reader *reader);

/* "" for other kinds. */
static inline const char *hf_text(const st_json *node)
{
    return node != NULL && node->kind == ST_JSON_STRING ? node->text : "";
}

#endif
