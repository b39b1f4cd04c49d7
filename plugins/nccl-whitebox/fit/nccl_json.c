/* SPDX-License-Identifier: Apache-2.0 */
/* What `all_reduce_perf -J FILE` writes (NVIDIA/nccl-tests, src/util.cu, version 2.16 and later).
 */
#include "nccl-whitebox/fit/nccl_read.h"

#include "base/json_read.h"
#include "steptime/quantity.h"

#include <math.h>
#include <string.h>

static const st_json *member(const st_json *map, const char *name)
{
    for (const st_json *own = map != NULL && map->kind == ST_JSON_MAP ? map->first : NULL;
         own != NULL; own = own->next)
        if (strcmp(own->name, name) == 0)
            return own;
    return NULL;
}

static const st_json *items(const st_json *map, const char *name)
{
    const st_json *list = member(map, name);
    return list != NULL && list->kind == ST_JSON_LIST ? list->first : NULL;
}

/* NaN where it is no number: null, "nan", absent. */
static double number_of(const st_json *own)
{
    double value = (double)NAN;
    if (own == NULL || own->kind != ST_JSON_NUMBER ||
        st_number_parse(own->text, strlen(own->text), (st_place){0}, &value, NULL) != ST_OK)
        return (double)NAN;
    return value;
}

static const char *text_of(const st_json *own)
{
    return own != NULL && own->kind == ST_JSON_STRING ? own->text : "";
}

static void read_name(st_nccl_reader *reader, const char *text)
{
    const char *base = strrchr(text, '/');
    base = base != NULL ? base + 1 : text;
    size_t length = strlen(base);
    if (reader->collective == NULL && length > 5 && strcmp(base + length - 5, "_perf") == 0)
        reader->collective = st_nccl_collective(base, length);
}

static void read_devices(st_nccl_reader *reader, const st_json *root)
{
    const st_json *config = member(root, "config");
    const st_json *device = items(config, "devices");
    device = device != NULL ? device : items(root, "devices");
    for (; device != NULL && reader->status == ST_OK; device = device->next) {
        double rank = number_of(member(device, "rank"));
        double group = number_of(member(device, "group"));
        const char *host = text_of(member(device, "hostname"));
        const char *gpu = text_of(member(device, "device_info"));
        if (!(rank >= 0 && rank < ST_NCCL_MAX_RANKS)) {
            st_nccl_refuse(reader, ST_ERR_VALUE, device->line, "a device without a rank");
            return;
        }
        st_nccl_device own = {.rank = (size_t)rank,
                              .group = group >= 0 && group < 1e9 ? (size_t)group : 0,
                              .host = st_nccl_text(reader, host, strlen(host)),
                              .gpu = st_nccl_text(reader, gpu, strlen(gpu))};
        st_nccl_add_device(reader, &own, device->line);
    }
}

static void read_block(const st_json *result, const char *name, int buffers, st_nccl_row *row)
{
    const st_json *block = member(result, name);
    const st_json *time = member(block, "time");
    row->time_s[buffers] = number_of(time != NULL ? time : member(block, "cpu_time")) * 1e-6;
    row->bandwidth[buffers] = number_of(member(block, "alg_bw")) * 1e9;
    row->slack[buffers] = 0.5e3; /* six digits behind the point of GB/s */
}

static void warn_of_wrong_results(st_nccl_reader *reader, const st_json *root)
{
    const st_json *okay = member(member(root, "out_of_bounds"), "okay");
    if (okay != NULL && okay->kind == ST_JSON_BOOL && strcmp(okay->text, "false") == 0)
        st_nccl_warn(reader, okay->line, "nccl-tests found wrong results in this run");
}

void st_nccl_read_json(st_nccl_reader *reader)
{
    const st_nccl_input *input = reader->input;
    st_json *root = NULL;
    reader->status = st_json_parse(input->file, input->text, input->length, reader->arena, &root,
                                   reader->errors);
    if (reader->status != ST_OK)
        return;
    const st_json *results = member(root, "results");
    const st_json *arguments = items(root, "args");
    if (results == NULL || results->kind != ST_JSON_LIST)
        return; /* no table */
    reader->version = st_nccl_version(reader, number_of(member(root, "nccl_version")));
    if (arguments != NULL)
        read_name(reader, text_of(arguments));
    read_name(reader, text_of(member(results->first, "experiment_name")));
    read_devices(reader, root);
    if (reader->status == ST_OK) {
        st_nccl_open_table(reader, results->line);
        for (const st_json *own = results->first; own != NULL && reader->status == ST_OK;
             own = own->next) {
            st_nccl_row row = {.size_bytes = number_of(member(own, "size")), .line = own->line};
            if (isnan(row.size_bytes) || row.size_bytes < 0) {
                st_nccl_refuse(reader, ST_ERR_VALUE, own->line, "a result without a size");
                break;
            }
            read_block(own, "out_of_place", ST_NCCL_OUT_OF_PLACE, &row);
            read_block(own, "in_place", ST_NCCL_IN_PLACE, &row);
            st_nccl_add_row(reader, &row);
        }
    }
    if (reader->status == ST_OK)
        warn_of_wrong_results(reader, root);
}
