/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a profile of layer times; times_read.c reads it. */
#include "kernel-times/fit/predict.h"

#include "base/number.h"

static void write_number(double value, int digits, st_buffer *buffer)
{
    char text[40];
    st_buffer_text(buffer, " ");
    st_buffer_text(buffer, st_number_significant(value, digits, text, sizeof text));
}

void st_times_write(const st_time_models *models, const st_time_sets *sets, st_buffer *buffer)
{
    const st_time_set *set = models->set;
    st_buffer_printf(buffer, "steptime-kernel-times 1\nvalue %s\ngpu",
                     st_times_cell_names[set->cell]);
    write_number(sets->peak, 15, buffer);
    write_number(sets->bandwidth, 15, buffer);
    st_buffer_text(buffer, " ");
    /* A name as one word. */
    const char *name = sets->gpu;
    for (size_t i = 0; i < ST_TIMES_NAME - 1 && name[i] != '\0'; i++) {
        bool plain = name[i] > ' ' && name[i] < 127;
        st_buffer_append(buffer, plain ? &name[i] : "-", 1);
    }
    st_buffer_text(buffer, "\nshape");
    for (size_t i = 0; i < ST_TIMES_FEATURES; i++)
        if (set->has[i])
            st_buffer_printf(buffer, " %s", st_times_feature_names[i]);
    st_buffer_text(buffer, "\npieces");
    for (size_t i = 0; i < set->piece_count; i++)
        st_buffer_printf(buffer, " %s", st_times_piece_names[set->pieces[i]]);
    st_buffer_text(buffer, "\n");
    st_buffer_printf(buffer, "rows %zu\n", set->count);
    for (size_t i = 0; i < set->count; i++) {
        const st_time_sample *sample = &set->samples[i];
        for (size_t k = 0; k < ST_TIMES_FEATURES; k++)
            if (set->has[k])
                write_number(sample->shape.features[k], 15, buffer);
        for (size_t k = 0; k < set->piece_count; k++)
            write_number(sample->times[k], 7, buffer);
        st_buffer_text(buffer, "\n");
    }
    for (size_t i = 0; i < set->piece_count; i++)
        if (models->times.models[i].given) {
            const st_times_model *model = &models->times.models[i];
            st_buffer_printf(buffer, "model %s %s", st_times_piece_names[set->pieces[i]],
                             st_times_form_names[model->form]);
            write_number(model->roofline.floor, 9, buffer);
            write_number(model->roofline.per_flop, 9, buffer);
            write_number(model->roofline.per_byte, 9, buffer);
            if (model->tree_count == 0)
                st_buffer_text(buffer, "\n");
            else {
                write_number(model->base, 9, buffer);
                st_buffer_printf(buffer, " %zu %zu\n", model->tree_count, model->node_count);
                for (size_t j = 0; j < model->tree_count; j++) {
                    size_t end =
                        j + 1 < model->tree_count ? model->starts[j + 1] : model->node_count;
                    st_buffer_printf(buffer, "tree %zu\n", end - model->starts[j]);
                    for (size_t k = model->starts[j]; k < end; k++) {
                        const st_times_node *node = &model->nodes[k];
                        if (node->feature < 0) {
                            st_buffer_text(buffer, "=");
                            write_number((double)node->threshold, 9, buffer);
                        } else {
                            st_buffer_printf(buffer, "%d", node->feature);
                            write_number((double)node->threshold, 9, buffer);
                            st_buffer_printf(buffer, " %zu %zu", node->left, node->right);
                        }
                        st_buffer_text(buffer, "\n");
                    }
                }
            }
        }
    st_buffer_text(buffer, "end\n");
}
