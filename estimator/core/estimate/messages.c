/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of a rank by size; see messages.h. */
#include "estimate/messages.h"

#include "base/text.h"
#include "base/memory.h"
#include "estimate/builtin.h"
#include "schedule/buckets.h"
#include "steptime/tool/roles.h"

#include <math.h>

/* What ST_ROLE_BUCKET_BYTES consists of. */
enum { BUCKET_FIRST, BUCKET_OTHERS, BUCKET_VALUE, BUCKET_ALL, BUCKET_BYTES };

enum { MOST_CELLS = 2 * ST_ROLE_PARTS, CLASSES = 64 };

/* --- collecting ------------------------------------------------------------------------------ */

typedef struct message_list {
    st_arena *arena;
    st_message_size *sizes;
    size_t count;
} message_list;

static void add_size(message_list *list, const char *kind, double count, double bytes)
{
    if (count > 0 && bytes > 0)
        (void)ST_APPEND(
            list->arena, list->sizes, list->count,
            (st_message_size){.kind = kind, .count = (uint64_t)llround(count), .bytes = bytes});
}

static bool add_bucket(void *context, const st_bucket *bucket)
{
    message_list *list = context;
    add_size(list, "dp", 1, bucket->bytes);
    return !st_arena_failed(list->arena);
}

/* --- asking the sheet ------------------------------------------------------------------------- */

typedef struct message_cells {
    st_role_part parts[MOST_CELLS];
    const char *names[MOST_CELLS];
    size_t count;
} message_cells;

static void ask(message_cells *cells, const st_sheet *sheet, st_role role, size_t part)
{
    const char *name = st_sheet_role_part(sheet, role, part);
    if (name == NULL)
        return;
    cells->parts[cells->count] = (st_role_part){role, part};
    cells->names[cells->count++] = name;
}

static void count_message(const st_estimate *estimate, const message_cells *cells,
                          message_list *list)
{
    const st_role_row *row = st_role_describe(ST_ROLE_MESSAGES);
    double count[ST_ROLE_PARTS] = {0};
    double bytes[ST_ROLE_PARTS] = {0};
    double bucket_bytes[BUCKET_BYTES] = {0};
    double buckets = 0;
    for (size_t i = 0; i < cells->count; i++) {
        size_t part = cells->parts[i].part;
        double value = estimate->shown[i].value;
        if (cells->parts[i].role == ST_ROLE_MESSAGES)
            count[part] = value;
        else if (cells->parts[i].role == ST_ROLE_MESSAGE_BYTES)
            bytes[part] = value;
        else if (cells->parts[i].role == ST_ROLE_BUCKET_BYTES)
            bucket_bytes[part] = value;
        else
            buckets = value;
    }
    for (size_t i = 0; i < st_role_part_count(ST_ROLE_MESSAGES); i++)
        add_size(list, row->parts[i], count[i], bytes[i]);
    if (buckets > 0) {
        /* Equal buckets where nothing is known of the layers. */
        const st_layers *layers = st_builtin_layers(estimate->providers, estimate->provider_count);
        st_bucket_caps caps = {.first_bytes = bucket_bytes[BUCKET_FIRST],
                               .cap_bytes = bucket_bytes[BUCKET_OTHERS],
                               .width_bytes = bucket_bytes[BUCKET_VALUE]};
        if (layers != NULL)
            (void)st_buckets_visit(layers, &caps, add_bucket, list);
        else
            add_size(list, "dp", buckets, bucket_bytes[BUCKET_ALL] / buckets);
    }
}

st_status st_messages_make(st_estimate *estimate, st_arena *arena, st_messages *messages,
                           st_errors *errors)
{
    /* Counts and sizes of messages, or what buckets are made of. */
    const st_sheet *sheet = estimate->sheet;
    message_cells cells = {.count = 0};
    size_t kinds = st_role_part_count(ST_ROLE_MESSAGES);
    for (size_t i = 0; i < kinds; i++) {
        if (st_sheet_role_part(sheet, ST_ROLE_MESSAGES, i) == NULL)
            continue;
        ask(&cells, sheet, ST_ROLE_MESSAGES, i);
        ask(&cells, sheet, ST_ROLE_MESSAGE_BYTES, i);
    }
    for (size_t i = 0; i < BUCKET_BYTES; i++)
        ask(&cells, sheet, ST_ROLE_BUCKET_BYTES, i);
    ask(&cells, sheet, ST_ROLE_BUCKETS, 0);
    message_list list = {.arena = arena};
    if (cells.count == 0)
        return st_fail(errors, ST_ERR_USAGE, (st_place){0},
                       "sheet '%s' has no messages to show" ST_EXPECTED
                       "roles 'messages' and 'message_bytes' with cells by kind",
                       st_sheet_name(estimate->sheet));
    st_status status =
        st_estimate_show_names(estimate, cells.names, cells.count, (st_place){0}, arena, errors);
    if (status == ST_OK)
        status = st_estimate_run(estimate, arena, errors);
    if (status != ST_OK)
        return status;
    count_message(estimate, &cells, &list);
    *messages = (st_messages){.sizes = list.sizes, .count = list.count};
    return st_arena_failed(arena) ? st_out_of_memory(errors) : ST_OK;
}

/* --- the result ------------------------------------------------------------------------------ */

/* Messages of at least 2^i and less than 2^(i+1) bytes. */
typedef struct size_class {
    uint64_t count;
    double bytes;
} size_class;

void st_messages_result(const st_messages *messages, st_result *result)
{
    st_node *root = &result->root;
    size_class classes[CLASSES] = {{0}};
    uint64_t all = 0;
    for (size_t i = 0; i < messages->count; i++) {
        const st_message_size *size = &messages->sizes[i];
        int class = ilogb(size->bytes);
        size_class *bucket = &classes[class < 0 ? 0 : class < CLASSES ? class : CLASSES - 1];
        bucket->count += size->count;
        bucket->bytes += (double)size->count * size->bytes;
        all += size->count;
    }
    char texts[2][ST_QUANTITY_TEXT];
    st_node *size_list = st_put_list(root, "messages");
    st_say(root, "\nMessages of a rank in one step\n  kind            messages       of        "
                 "in all\n");
    for (size_t i = 0; i < messages->count; i++) {
        const st_message_size *size = &messages->sizes[i];
        st_node *node = st_put_line_map(size_list, NULL);
        st_put_text(node, "kind", size->kind);
        st_put_count(node, "messages", size->count);
        st_put_number(node, "size_bytes", size->bytes);
        st_put_number(node, "bytes", (double)size->count * size->bytes);
        st_say(root, "  %-14s %9llu  %11s  %11s\n", size->kind, (unsigned long long)size->count,
               st_quantity_text(size->bytes, "MiB", texts[0]),
               st_quantity_text((double)size->count * size->bytes, "MiB", texts[1]));
    }
    st_node *list = st_put_list(root, "histogram");
    st_say(root, "\nBy size\n");
    st_bars *bars = st_say_bars(root, (double)NAN);
    for (int class = 0; class < CLASSES; class ++)
        if (classes[class].count > 0) {
            const size_class *bucket = &classes[class];
            char class_texts[3][ST_QUANTITY_TEXT];
            char label[2 * ST_QUANTITY_TEXT];
            char share[16];
            char number[24];
            double part = (double)bucket->count / (double)all;
            st_node *node = st_put_line_map(list, NULL);
            st_put_number(node, "from_bytes", ldexp(1, class));
            st_put_number(node, "below_bytes", ldexp(1, class + 1));
            st_put_count(node, "messages", bucket->count);
            st_put_number(node, "bytes", bucket->bytes);
            st_put_number(node, "share", part);
            (void)snprintf(label, sizeof label, "%s to %s",
                           st_quantity_text(ldexp(1, class), "MiB", class_texts[0]),
                           st_quantity_text(ldexp(1, class + 1), "MiB", class_texts[1]));
            (void)snprintf(number, sizeof number, "%llu", (unsigned long long)bucket->count);
            (void)snprintf(share, sizeof share, "%.1f %%", 100 * part);
            st_bars_add(bars,
                        &(st_bar){.label = label,
                                  .number = number,
                                  .share = share,
                                  .note = st_quantity_text(bucket->bytes, "MiB", class_texts[2]),
                                  .full = part});
        }
    st_result_csv(result, "messages", "kind,messages,size_bytes,bytes");
}
