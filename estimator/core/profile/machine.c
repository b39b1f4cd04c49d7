/* SPDX-License-Identifier: Apache-2.0 */
/* GPU, NCCL and rates of an entry compared with those of its user; see profile.h. */
#include "steptime/tool/profiles.h"

#include "base/json_read.h"
#include "base/memory.h"
#include "steptime/keys.h"
#include "steptime/tool/gpus.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VERSION_TEXT = 32 };

/* Rates in headings are rounded: 400 Gb/s and 48 GiB/s are one NIC. */
static const double same_rate = 0.05;

typedef struct checker {
    const st_profile *entry;
    const st_profile_machine *machine;
    st_place place;
    st_arena *arena;
    const st_json *provenance; /* NULL: none that can be read */
    st_errors *errors;
} checker;

double st_nccl_version_code(const char *version)
{
    char *end = NULL;
    long major = strtol(version, &end, 10);
    long minor = *end == '.' ? strtol(end + 1, &end, 10) : 0;
    long patch = *end == '.' ? strtol(end + 1, &end, 10) : 0;
    bool ends = !(*end >= 'a' && *end <= 'z') && !(*end >= 'A' && *end <= 'Z');
    bool known =
        ends && major > 0 && major < 10 && minor >= 0 && minor < 100 && patch >= 0 && patch < 100;
    return known ? (double)(major * 10000 + minor * 100 + patch) : (double)NAN;
}

/* 22203 as "2.22.3", and 2708 of versions before 2.9 as "2.7.8". */
static void write_version(double code, char text[VERSION_TEXT])
{
    long number = lround(code);
    long unit = number < 10000 ? 1000 : 10000;
    snprintf(text, VERSION_TEXT, "%ld.%ld.%ld", number / unit, number % unit / 100, number % 100);
}

static double number_of(const st_job *job, const char *key)
{
    const st_job_value *value = st_job_value_of(job, key);
    return value != NULL && value->origin != ST_ORIGIN_NONE ? value->number : (double)NAN;
}

st_profile_machine st_profile_machine_of(const st_job *job)
{
    const st_job_value *gpu = st_job_value_of(job, ST_KEY_CLUSTER_GPU_NAME);
    return (st_profile_machine){.whose = "the job",
                                .gpu =
                                    gpu != NULL && gpu->origin != ST_ORIGIN_NONE ? gpu->text : NULL,
                                .nccl = number_of(job, ST_KEY_CLUSTER_NCCL_VERSION),
                                .links = number_of(job, ST_KEY_CLUSTER_GPU_LINK_BANDWIDTH),
                                .nics = number_of(job, ST_KEY_CLUSTER_NODES) > 1
                                            ? number_of(job, ST_KEY_CLUSTER_NIC_BANDWIDTH)
                                            : (double)NAN};
}

/* ---- what an entry says ---- */

static const char *member(const checker *check, const char *name)
{
    const st_json *child = check->provenance != NULL ? check->provenance->first : NULL;
    for (; child != NULL; child = child->next)
        if (child->kind == ST_JSON_STRING && strcmp(child->name, name) == 0)
            return child->text;
    return "";
}

/* ---- comparisons ---- */

static st_status warn(const checker *check, const char *what, const char *of_entry,
                      const char *of_machine)
{
    st_errors *errors = check->errors;
    const char *message =
        st_errors_text(errors, "profile '%s' was measured %s %s, but %s has %s", check->entry->name,
                       what, of_entry, check->machine->whose, of_machine);
    for (size_t i = 0; i < st_errors_size(errors); i++)
        if (strcmp(st_errors_at(errors, i)->message, message) == 0)
            return ST_OK;
    return st_report(errors, ST_SEVERITY_WARNING, ST_ERR_VALUE, check->place, "%s", message);
}

static st_status check_gpu(const checker *check, const st_paths *paths)
{
    st_gpus gpus = {0};
    const char *asked = check->machine->gpu;
    const char *measured = member(check, ST_PROFILE_GPU);
    if (asked == NULL || asked[0] == '\0' || measured[0] == '\0')
        return ST_OK;
    st_status status = st_gpus_list(paths, check->arena, &gpus, check->errors);
    if (status != ST_OK || st_gpus_same(&gpus, measured, asked))
        return status;
    return warn(check, "on", measured, asked);
}

static st_status check_rate(const checker *check, const char *what, const char *name, double asked)
{
    double measured;
    const char *text = member(check, name);
    st_unit unit;
    double rate = (double)NAN;
    if (text[0] == '\0' || st_unit_parse("GB/s", 4, (st_place){0}, &unit, NULL) != ST_OK ||
        st_quantity_parse(text, strlen(text), &unit, (st_place){0}, &rate, NULL) != ST_OK)
        measured = (double)NAN;
    else
        measured = rate;
    char texts[2][ST_QUANTITY_TEXT];
    if (isnan(measured) || isnan(asked) ||
        fabs(measured - asked) <= same_rate * fmax(measured, asked))
        return ST_OK;
    snprintf(texts[0], sizeof texts[0], "%.4g GB/s", measured / 1e9);
    snprintf(texts[1], sizeof texts[1], "%.4g GB/s", asked / 1e9);
    return warn(check, what, texts[0], texts[1]);
}

st_status st_profile_check_machine(const st_paths *paths, const st_profile *entry,
                                   const st_profile_machine *machine, st_place place,
                                   st_errors *errors)
{
    checker check = {.entry = entry, .machine = machine, .place = place, .errors = errors};
    st_json *root = NULL;
    check.arena = st_arena_create();
    if (check.arena == NULL)
        return st_out_of_memory(errors);
    /* A provenance is free-form; only a map is understood. */
    if (st_json_parse("", entry->provenance, strlen(entry->provenance), check.arena, &root, NULL) ==
            ST_OK &&
        root->kind == ST_JSON_MAP)
        check.provenance = root;
    st_status status = check_gpu(&check, paths);
    if (status == ST_OK) {
        double measured = st_nccl_version_code(check.entry->nccl);
        double asked = check.machine->nccl;
        char texts[2][VERSION_TEXT];
        if (!isnan(measured) && !isnan(asked) && measured != asked) {
            write_version(measured, texts[0]);
            write_version(asked, texts[1]);
            status = warn(&check, "with NCCL", texts[0], texts[1]);
        }
    }
    if (status == ST_OK && entry->nodes == 1)
        status = check_rate(&check, "over links of", ST_PROFILE_LINKS, machine->links);
    if (status == ST_OK && entry->nodes != 1)
        status = check_rate(&check, "over NICs of a node of", ST_PROFILE_NICS, machine->nics);
    st_arena_destroy(check.arena);
    return status;
}
