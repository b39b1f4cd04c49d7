/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layout of a pipeline, by the rules of Megatron-LM (PipelineParallelLayerLayout): the
 * embedding begins the first stage and the loss ends the last, layers come before those of
 * multi-token prediction, which share one stage, the last chunk of a rank but the first.
 */
#include "steptime/tool/pattern.h"

#include "base/memory.h"
#include "job/pattern_expand.h"

#include <math.h>
#include <string.h>

static const char letters[] = "E, t, m, L or |";

typedef struct layout_reader {
    const st_layout_needs *needs;
    st_errors *errors;
    st_layout_stage *stages;
    size_t count;
    uint32_t layers;
    uint32_t mtp;
    size_t embedding; /* how often it occurs */
    size_t loss;
    bool late; /* a layer follows multi-token prediction */
} layout_reader;

static st_status check_counts(const layout_reader *reader)
{
    const st_layout_needs *needs = reader->needs;
    if ((double)reader->layers != needs->layers)
        return st_fail(reader->errors, ST_ERR_VALUE, needs->place,
                       "the layout and the model have different numbers of layers" ST_FOUND
                       "%u 't'" ST_EXPECTED "%.15g (model.layers)",
                       reader->layers, needs->layers);
    if ((double)reader->mtp != needs->mtp)
        return st_fail(reader->errors, ST_ERR_VALUE, needs->place,
                       "the layout and the model have different numbers of multi-token prediction "
                       "layers" ST_FOUND "%u 'm'" ST_EXPECTED "%.15g (model.mtp)",
                       reader->mtp, needs->mtp);
    double whole = (double)reader->count / needs->pp;
    if (whole != (double)(size_t)whole) {
        size_t pp = (size_t)needs->pp;
        return st_fail(
            reader->errors, ST_ERR_VALUE, needs->place,
            "the stages of the layout do not divide evenly among the pipeline ranks" ST_FOUND
            "%zu stages" ST_EXPECTED "a multiple of parallel.pp (%zu), such as %zu",
            reader->count, pp, (reader->count / pp + 1) * pp);
    }
    return ST_OK;
}

static st_status check_ends(const layout_reader *reader, const st_expanded *spelled)
{
    if (reader->embedding != 1 || spelled->letters[0] != 'E')
        return st_fail(reader->errors, ST_ERR_VALUE, reader->needs->place,
                       "the layout must start with its only embedding" ST_FOUND
                       "%zu 'E', and '%c' first" ST_EXPECTED "one 'E' at the beginning",
                       reader->embedding, spelled->letters[0]);
    char last = spelled->letters[spelled->count - 1];
    if (reader->loss != 1 || last != 'L')
        return st_fail(reader->errors, ST_ERR_VALUE, reader->needs->place,
                       "the layout must end with its only loss" ST_FOUND
                       "%zu 'L', and '%c' last" ST_EXPECTED "one 'L' at the end",
                       reader->loss, last);
    return ST_OK;
}

static st_status check_mtp(const layout_reader *reader)
{
    size_t pp = (size_t)reader->needs->pp;
    for (size_t i = 0; i < reader->count; i++) {
        uint32_t mtp = reader->stages[i].mtp;
        if (mtp == 0)
            continue;
        if (mtp != reader->mtp)
            return st_fail(reader->errors, ST_ERR_VALUE, reader->needs->place,
                           "the layout splits multi-token prediction over stages" ST_FOUND
                           "%u of %u 'm' in stage %zu" ST_EXPECTED "all of them in one stage",
                           mtp, reader->mtp, i + 1);
        if (i % pp == 0 && pp > 1)
            return st_fail(reader->errors, ST_ERR_VALUE, reader->needs->place,
                           "the layout has multi-token prediction on the first rank" ST_FOUND
                           "'m' in stage %zu of %zu" ST_EXPECTED
                           "a stage of another rank, preferably the last",
                           i + 1, reader->count);
        if (i + pp < reader->count)
            return st_fail(reader->errors, ST_ERR_VALUE, reader->needs->place,
                           "multi-token prediction is not in the last stage of its rank" ST_FOUND
                           "'m' in stage %zu of %zu" ST_EXPECTED "one of the last %zu stages",
                           i + 1, reader->count, pp);
    }
    if (reader->late)
        return st_fail(reader->errors, ST_ERR_VALUE, reader->needs->place,
                       "layers follow multi-token prediction" ST_EXPECTED
                       "every 't' before the first 'm'");
    return ST_OK;
}

st_status st_layout_read(const char *text, const st_layout_needs *needs, st_arena *arena,
                         st_layout *layout, st_errors *errors)
{
    *layout = (st_layout){0};
    st_expanded spelled = {.noun = "layout", .ignored = " \t,"};
    st_status status = st_pattern_expand(text, needs->place, arena, &spelled, errors);
    if (status != ST_OK)
        return status;
    layout_reader reader = {.needs = needs,
                            .errors = errors,
                            .stages =
                                st_arena_alloc(arena, spelled.count + 1, sizeof *reader.stages),
                            .count = 1};
    if (reader.stages == NULL)
        return st_out_of_memory(errors);
    for (size_t i = 0; i < spelled.count; i++) {
        if (strchr("EtmL|", spelled.letters[i]) == NULL)
            return st_expanded_fail(&spelled, i, needs->place, letters, errors);
        const char letter = spelled.letters[i];
        st_layout_stage *stage = &reader.stages[reader.count - 1];
        if (letter == 't') {
            stage->layers++;
            reader.layers++;
            reader.late = reader.late || reader.mtp > 0;
        } else if (letter == 'm') {
            stage->mtp++;
            reader.mtp++;
        } else if (letter == 'E') {
            stage->embedding = true;
            reader.embedding++;
        } else if (letter == 'L') {
            stage->loss = true;
            reader.loss++;
        } else {
            reader.stages[reader.count++].first = reader.layers;
        }
    }
    const st_layout_needs known = {.place = needs->place,
                                   .pp = isnan(needs->pp) ? (double)reader.count : needs->pp,
                                   .layers = isnan(needs->layers) ? reader.layers : needs->layers,
                                   .mtp = isnan(needs->mtp) ? reader.mtp : needs->mtp};
    reader.needs = &known;
    st_status check_status = check_ends(&reader, &spelled);
    if (check_status == ST_OK) {
        for (size_t i = 0; i < reader.count; i++) {
            const st_layout_stage *stage = &reader.stages[i];
            if (stage->layers == 0 && stage->mtp == 0 && !stage->embedding && !stage->loss) {
                check_status = st_fail(reader.errors, ST_ERR_VALUE, reader.needs->place,
                                       "the layout has an empty stage" ST_FOUND
                                       "nothing in stage %zu of %zu" ST_EXPECTED
                                       "at least one of E, t, m and L in each",
                                       i + 1, reader.count);
                break;
            }
        }
    }
    if (check_status == ST_OK)
        check_status = check_counts(&reader);
    status = check_status == ST_OK ? check_mtp(&reader) : check_status;
    if (status != ST_OK)
        return status;
    *layout = (st_layout){.count = reader.count,
                          .virtual_stages = reader.count / (size_t)known.pp,
                          .stages = reader.stages};
    return ST_OK;
}

static bool is_alike(const st_layout_stage *one, const st_layout_stage *other)
{
    return one->layers == other->layers && one->mtp == other->mtp &&
           one->embedding == other->embedding && one->loss == other->loss;
}

static void write_letter(char letter, size_t count, st_buffer *buffer)
{
    if (count > 2)
        st_buffer_printf(buffer, "%c*%zu", letter, count);
    for (size_t i = 0; i < count && count <= 2; i++)
        st_buffer_printf(buffer, "%c", letter);
}

const char *st_layout_text(const st_layout *layout, st_arena *arena)
{
    st_buffer text = {0};
    for (size_t i = 0; i < layout->count;) {
        const st_layout_stage *at = &layout->stages[i];
        size_t alike = 1;
        while (i + alike + 1 < layout->count && is_alike(at, &layout->stages[i + alike]))
            alike++;
        st_buffer_text(&text, alike > 1 ? "(" : "");
        write_letter('E', at->embedding, &text);
        write_letter('t', at->layers, &text);
        write_letter('m', at->mtp, &text);
        write_letter('L', at->loss, &text);
        st_buffer_text(&text, i + alike < layout->count ? "|" : "");
        if (alike > 1)
            st_buffer_printf(&text, ")*%zu", alike);
        i += alike;
    }
    const char *copy = text.failed ? NULL : st_arena_copy(arena, text.data, text.length);
    st_buffer_free(&text);
    return copy;
}
