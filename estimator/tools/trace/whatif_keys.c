/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of what-if: which there are, and what their values may be. */
#include "trace/whatif.h"

#include "steptime/keys.h"
#include "steptime/quantity.h"
#include "trace/xalloc.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

static const char SCHEDULE_KEY[] = "pipeline.schedule";
static const char KERNEL_KEY[] = "speed.kernel:"; /* before a pattern */

typedef struct key_row {
    const char *name;
    bool whole;    /* a whole number of at least 1; otherwise any number above 0 */
    bool recorded; /* may describe the recorded job */
} key_row;

static const key_row rows[ST_WHATIF_KEYS] = {
    [ST_WHATIF_TP] = {ST_KEY_PARALLEL_TP, true, true},
    [ST_WHATIF_DP] = {ST_KEY_PARALLEL_DP, true, true},
    [ST_WHATIF_PP] = {ST_KEY_PARALLEL_PP, true, true},
    [ST_WHATIF_MICROS] = {"batch.micro_batches", true, true},
    [ST_WHATIF_LAYERS] = {ST_KEY_MODEL_LAYERS, true, true},
    [ST_WHATIF_HIDDEN] = {ST_KEY_MODEL_HIDDEN, true, true},
    [ST_WHATIF_FFN] = {ST_KEY_MODEL_FFN, true, true},
    [ST_WHATIF_HEADS] = {ST_KEY_MODEL_HEADS, true, true},
    [ST_WHATIF_MICRO_BATCH] = {ST_KEY_BATCH_MICRO, true, true},
    [ST_WHATIF_BANDWIDTH] = {"bandwidth", false, false},
    [ST_WHATIF_BANDWIDTH_TP] = {"bandwidth.tp", false, false},
    [ST_WHATIF_BANDWIDTH_DP] = {"bandwidth.dp", false, false},
    [ST_WHATIF_SLOWDOWN] = {"overlap.slowdown", false, true},
    [ST_WHATIF_SLOWED_COLLECTIVES] = {"overlap.communication_slowdown", false, true},
    [ST_WHATIF_TRANSFER] = {"pipeline.transfer_us", false, false},
    [ST_WHATIF_HOST] = {"speed.host", false, false},
    [ST_WHATIF_LAUNCH] = {"speed.launch", false, false},
    [ST_WHATIF_SPEED + ST_TRACE_GEMM] = {"speed.gemm", false, false},
    [ST_WHATIF_SPEED + ST_TRACE_ATTENTION] = {"speed.attention", false, false},
    [ST_WHATIF_SPEED + ST_TRACE_NORM] = {"speed.norm", false, false},
    [ST_WHATIF_SPEED + ST_TRACE_ELEMENTWISE] = {"speed.elementwise", false, false},
    [ST_WHATIF_SPEED + ST_TRACE_OPTIMIZER] = {"speed.optimizer", false, false},
    [ST_WHATIF_SPEED + ST_TRACE_MEMORY] = {"speed.memory", false, false},
    [ST_WHATIF_SPEED + ST_TRACE_COMMUNICATION] = {"speed.communication", false, false},
    [ST_WHATIF_SPEED + ST_TRACE_OTHER] = {"speed.other", false, false},
};

const char *st_whatif_key_name(st_whatif_key key)
{
    return rows[key].name;
}

typedef struct parser {
    st_whatif_values *values;
    const char *option; /* "--set" or "--have" */
    bool recorded;
    st_arena *arena;
    st_errors *errors;
} parser;

static st_status parse_number(parser *p, const key_row *row, const char *text, double *value)
{
    double number = 0;
    size_t length = strlen(text);
    if (!row->whole && length > 1 && text[length - 1] == 'x')
        length--; /* "2x" as fast */
    st_status status = st_number_parse(text, length, (st_place){.file = p->option}, &number, NULL);
    bool fits =
        status == ST_OK && number > 0 && number <= 1e9 && (!row->whole || number == floor(number));
    if (!fits)
        return st_fail(p->errors, ST_ERR_USAGE, (st_place){.file = p->option},
                       "invalid value of %s" ST_FOUND "'%s'" ST_EXPECTED "%s", row->name, text,
                       row->whole ? "a whole number of at least 1" : "a number above 0");
    *value = number;
    return ST_OK;
}

static st_status add_kernels(parser *p, const char *pattern, size_t length, double speed)
{
    st_whatif_values *values = p->values;
    if (length == 0 || values->kernel_count == ST_WHATIF_PATTERNS)
        return st_fail(p->errors, ST_ERR_USAGE, (st_place){.file = p->option},
                       "%s" ST_EXPECTED "at most %d names of kernels, with * for any text",
                       length == 0 ? "an empty pattern" : "too many patterns", ST_WHATIF_PATTERNS);
    char *copy = st_xcopy(p->arena, pattern, length);
    values->kernels[values->kernel_count++] = (st_whatif_kernels){copy, speed};
    return ST_OK;
}

static st_status parse_one(parser *p, const char *text)
{
    const char *equals = strchr(text, '=');
    if (!p->recorded && strncmp(text, KERNEL_KEY, sizeof KERNEL_KEY - 1) == 0) {
        /* "speed.kernel:*gemm*=2"; names of kernels have equals signs, too. */
        static const key_row row = {"speed.kernel", false, false};
        const char *pattern = text + sizeof KERNEL_KEY - 1;
        const char *kernel_equals = strrchr(pattern, '=');
        double speed = 0;
        if (kernel_equals == NULL)
            return st_fail(p->errors, ST_ERR_USAGE, (st_place){.file = p->option},
                           "no value" ST_FOUND "'%s'" ST_EXPECTED "speed.kernel:PATTERN=VALUE",
                           text);
        st_status status = parse_number(p, &row, kernel_equals + 1, &speed);
        return status == ST_OK ? add_kernels(p, pattern, (size_t)(kernel_equals - pattern), speed)
                               : status;
    }
    double *values = p->recorded ? p->values->have : p->values->set;
    if (equals == NULL)
        return st_fail(p->errors, ST_ERR_USAGE, (st_place){.file = p->option},
                       "no value" ST_FOUND "'%s'" ST_EXPECTED "KEY=VALUE", text);
    size_t length = (size_t)(equals - text);
    if (!p->recorded && length == sizeof SCHEDULE_KEY - 1 &&
        memcmp(text, SCHEDULE_KEY, length) == 0) {
        /* Only orders that run the gradients of activations and weights at once: a trace does not
         * tell them apart. */
        const char *value = equals + 1;
        static const st_schedule_kind known[] = {ST_SCHEDULE_GPIPE, ST_SCHEDULE_1F1B};
        for (size_t i = 0; i < ST_COUNT(known); i++) {
            if (strcmp(value, st_schedule_name(known[i])) == 0) {
                p->values->schedule = known[i];
                p->values->has_schedule = true;
                return ST_OK;
            }
        }
        return st_fail(p->errors, ST_ERR_USAGE, (st_place){.file = p->option},
                       "invalid value of pipeline.schedule" ST_FOUND "'%s'" ST_EXPECTED
                       "gpipe or 1f1b",
                       value);
    }
    for (int i = 0; i < ST_WHATIF_KEYS; i++)
        if (strlen(rows[i].name) == length && memcmp(rows[i].name, text, length) == 0 &&
            (rows[i].recorded || !p->recorded))
            return parse_number(p, &rows[i], equals + 1, &values[i]);
    const char *names[ST_WHATIF_KEYS + 2];
    size_t count = 0;
    for (int i = 0; i < ST_WHATIF_KEYS; i++)
        if (rows[i].recorded || !p->recorded)
            names[count++] = rows[i].name;
    if (!p->recorded) {
        names[count++] = SCHEDULE_KEY;
        names[count++] = KERNEL_KEY;
    }
    char key[64];
    (void)snprintf(key, sizeof key, "%.*s", (int)(length < 63 ? length : 63), text);
    const char *nearest = st_nearest(key, names, count);
    return st_fail(p->errors, ST_ERR_USAGE, (st_place){.file = p->option},
                   "unknown key '%s'" ST_HINT "%s", key,
                   nearest != NULL ? nearest
                   : strncmp(key, "cluster.", 8) == 0
                       ? "'steptime trace whatif --set cluster.gpu=GPU --trace FILE' writes the "
                         "step on another GPU"
                       : "'steptime help trace whatif' lists the keys and what they mean");
}

st_status st_whatif_parse(const st_trace_change *change, st_arena *arena, st_whatif_values *values,
                          st_errors *errors)
{
    *values = (st_whatif_values){.schedule = ST_SCHEDULE_1F1B};
    parser have = {.values = values, .option = "--have", .recorded = true, .errors = errors};
    parser set = {.values = values, .option = "--set", .arena = arena, .errors = errors};
    parser remove = {.values = values, .option = "--remove", .arena = arena, .errors = errors};
    st_status status = ST_OK;
    for (size_t i = 0; i < change->have_count; i++)
        st_note(&status, parse_one(&have, change->have[i]));
    for (size_t i = 0; i < change->set_count; i++)
        st_note(&status, parse_one(&set, change->sets[i]));
    for (size_t i = 0; i < change->removed_count; i++)
        st_note(&status, add_kernels(&remove, change->removed[i], strlen(change->removed[i]), 0));
    if (status == ST_OK &&
        (change->set_count + change->removed_count + change->fused_count + change->inserted_count ==
             0 &&
         change->ratios == NULL))
        status = st_fail(set.errors, ST_ERR_USAGE, (st_place){.file = set.option},
                         "nothing to change" ST_EXPECTED "--set KEY=VALUE");
    bool new_pipeline = values->set[ST_WHATIF_PP] > 0 || values->set[ST_WHATIF_MICROS] > 0;
    if (status == ST_OK && !new_pipeline &&
        (values->has_schedule || values->set[ST_WHATIF_TRANSFER] > 0))
        status = st_fail(set.errors, ST_ERR_USAGE, (st_place){.file = set.option},
                         "%s describes a new pipeline, but none is requested" ST_EXPECTED
                         "--set parallel.pp or batch.micro_batches",
                         values->has_schedule ? SCHEDULE_KEY : rows[ST_WHATIF_TRANSFER].name);
    return status;
}

void st_whatif_note(st_whatif *w, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (st_has_text(w->outcome->notes, w->outcome->note_count, text))
        return;
    const char *copy = st_xcopy(w->arena, text, strlen(text));
    ST_XAPPEND(w->arena, w->outcome->notes, w->outcome->note_count, copy);
}

void st_whatif_refuse(st_whatif *w, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (w->status == ST_OK)
        w->status = st_vfail(w->errors, ST_ERR_VALUE, (st_place){0}, format, arguments);
    va_end(arguments);
}

void st_whatif_set_ns(st_whatif *w, st_task_id task, int64_t time_ns)
{
    if (w->status == ST_OK)
        w->status = st_graph_set_duration(w->graph->graph, task, time_ns, w->errors);
}

void st_whatif_set_time(st_whatif *w, st_task_id task, double time_ns)
{
    if (time_ns > 0x1p62)
        st_whatif_refuse(w, "a task would last longer than 146 years");
    else
        st_whatif_set_ns(w, task, llround(time_ns));
}
