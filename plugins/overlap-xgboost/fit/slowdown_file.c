/* SPDX-License-Identifier: Apache-2.0 */
/* The text form of a slowdown model; plugins/overlap-xgboost reads it. */
#include "overlap-xgboost/fit/slowdown.h"

#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <zlib.h>

/* Bytes, bytes when packed, CRC-32 of the former, and the latter in base64. */
static st_status write_member(const unsigned char *bytes, size_t size_bytes, st_buffer *buffer)
{
    uLongf packed_bytes = compressBound(size_bytes);
    unsigned char *packed = malloc(packed_bytes);
    if (packed == NULL ||
        compress2(packed, &packed_bytes, bytes, size_bytes, Z_BEST_COMPRESSION) != Z_OK) {
        free(packed);
        return ST_ERR_MEMORY;
    }
    st_buffer_printf(buffer, "member %zu %lu %08lx ", size_bytes, (unsigned long)packed_bytes,
                     crc32_z(crc32(0, NULL, 0), bytes, size_bytes));
    st_buffer_base64(buffer, packed, packed_bytes);
    st_buffer_text(buffer, "\n");
    free(packed);
    return ST_OK;
}

st_status st_slowdown_write(const st_slowdown_model *model, st_buffer *buffer, st_errors *errors)
{
    size_t start = buffer->length;
    st_buffer_text(buffer, "steptime-slowdown 4\n");
    st_buffer_printf(buffer, "recipe %s\n", model->recipe->name);
    st_buffer_printf(buffer, "target %s\n", model->recipe->logarithm ? "logarithm" : "factor");
    st_buffer_printf(buffer, "quantile %.9g\n", model->recipe->quantile);
    st_buffer_printf(buffer, "spread %.9g\n", model->recipe->spread);
    st_buffer_printf(buffer, "least %.9g\n", model->least_slowdown);
    st_buffer_printf(buffer, "scale %.9g\n", model->scale);
    st_buffer_printf(buffer, "kernels %zu\n", model->trained_on);
    st_buffer_printf(buffer, "features %d\n", (int)ST_FEATURES);
    for (int i = 0; i < ST_FEATURES; i++) {
        if (isnan(model->least[i]))
            st_buffer_printf(buffer, "feature %d unknown\n", i);
        else
            st_buffer_printf(buffer, "feature %d %.9g %.9g\n", i, (double)model->least[i],
                             (double)model->most[i]);
    }
    /* Those that the kernels ran on, by their numbers among ST_KERNEL_GPUS; none: nobody said. */
    size_t count = 0;
    for (size_t i = 0; i < ST_MOST_GPUS; i++)
        count += model->has_gpu[i] ? 1 : 0;
    st_buffer_printf(buffer, "gpus %zu", count);
    for (size_t i = 0; i < ST_MOST_GPUS; i++)
        if (model->has_gpu[i])
            st_buffer_printf(buffer, " %zu", i);
    st_buffer_text(buffer, "\n");
    st_buffer_printf(buffer, "classes %d\n", (int)ST_KERNEL_CLASSES);
    for (int k = 0; k < ST_KERNEL_CLASSES; k++) {
        const st_usual_kernel *usual = &model->usual[k];
        st_buffer_printf(buffer, "class %s %zu %.9g", st_kernel_class_name((st_kernel_class)k),
                         usual->count, usual->weight);
        if (isnan(usual->slowdown))
            st_buffer_text(buffer, " -");
        else
            st_buffer_printf(buffer, " %.9g", usual->slowdown);
        for (int i = 0; i < ST_FEATURES; i++)
            if (isnan(usual->features[i]))
                st_buffer_text(buffer, " -");
            else
                st_buffer_printf(buffer, " %.9g", (double)usual->features[i]);
        st_buffer_text(buffer, "\n");
    }
    st_buffer_printf(buffer, "members %zu\n", model->member_count);
    for (size_t i = 0; i < model->member_count; i++) {
        const char *bytes = NULL;
        size_t size_bytes = 0;
        st_status status = st_trees_save(model->members[i], &bytes, &size_bytes, errors);
        if (status != ST_OK)
            return status;
        status = write_member((const unsigned char *)bytes, size_bytes, buffer);
        if (status != ST_OK)
            return status;
    }
    if (!buffer->failed) {
        const unsigned char *text = (const unsigned char *)buffer->data + start;
        st_buffer_printf(buffer, "end %08lx\n",
                         crc32_z(crc32(0, NULL, 0), text, buffer->length - start));
    }
    return buffer->failed ? ST_ERR_MEMORY : ST_OK;
}
