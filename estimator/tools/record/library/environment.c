/* SPDX-License-Identifier: Apache-2.0 */
/* See environment.h. */
#define _GNU_SOURCE
#include "record/library/environment.h"

#include "record/library/entry.h"
#include "record/library/patch.h"

#include <errno.h>
#include <inttypes.h>
#include <link.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static uint64_t ns_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* The first of these names in the environment that is a number; -1: none is. */
static int32_t number_of(const char *const *names)
{
    for (; *names != NULL; names++) {
        const char *text = getenv(*names);
        char *end = NULL;
        long number = text != NULL ? strtol(text, &end, 10) : -1;
        if (text != NULL && end != text && *end == '\0' && number >= 0 && number < INT32_MAX)
            return (int32_t)number;
    }
    return -1;
}

static uint64_t bytes_of(const char *text, const char **rest)
{
    char *end = NULL;
    uint64_t bytes = text != NULL ? strtoull(text, &end, 10) : 0;
    *rest = end != NULL && *end == ',' ? end + 1 : end;
    return bytes;
}

/* A field up to the next comma; where the next begins. */
static const char *field_of(const char *text, char *into, size_t bytes)
{
    size_t length = strcspn(text, ",");
    (void)snprintf(into, bytes, "%.*s", (int)length, text);
    return text[length] == ',' ? text + length + 1 : text + length;
}

typedef struct runtimes {
    uint32_t version; /* 11, 12, 13; 0: none */
    uint32_t other;
} runtimes;

static int see_library(struct dl_phdr_info *library, size_t bytes, void *context)
{
    static const char stem[] = "libcudart.so.";
    runtimes *seen = context;
    (void)bytes;
    const char *name = strstr(library->dlpi_name, stem);
    uint32_t version = name != NULL ? (uint32_t)strtoul(name + sizeof stem - 1, NULL, 10) : 0;
    if (version != 0 && seen->version == 0)
        seen->version = version;
    else if (version != 0 && version != seen->version)
        seen->other = version;
    return 0;
}

bool st_settings_versions(st_process *process)
{
    runtimes seen = {0};
    uint32_t linked = st_patched_version();
    (void)dl_iterate_phdr(see_library, &seen);
    process->header.cuda_version = seen.version == 11 ? 11080 : seen.version == 12 ? 12080 : 13000;
    if (seen.version == 0 && linked != 0)
        process->header.cuda_version = linked;
    return seen.other == 0 && (seen.version == 0 || linked == 0 || linked / 1000 == seen.version);
}

void st_settings_read(st_process *process)
{
    static const char *const ranks[] = {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID",
                                        NULL};
    static const char *const worlds[] = {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                                         "SLURM_NTASKS", NULL};
    static const char *const locals[] = {"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK",
                                         "SLURM_LOCALID", NULL};
    st_log_header *header = &process->header;
    const char *folder = getenv("STEPTIME_RECORD");
    const char *policy = getenv("STEPTIME_RECORD_POLICY");
    *header = (st_log_header){.rank = number_of(ranks),
                              .world = number_of(worlds),
                              .local_rank = number_of(locals),
                              .pid = (uint32_t)getpid(),
                              .start_realtime_ns = ns_of(CLOCK_REALTIME),
                              .start_monotonic_ns = ns_of(CLOCK_MONOTONIC)};
    (void)snprintf(process->folder, sizeof process->folder, "%s", folder != NULL ? folder : ".");
    (void)snprintf(header->policy, sizeof header->policy, "%s", policy != NULL ? policy : "shadow");
    (void)snprintf(header->program, sizeof header->program, "%s", program_invocation_short_name);
    const char *text = getenv("STEPTIME_RECORD_DEVICE");
    if (text == NULL)
        text = "unknown,unknown,0,0,0,0,0,0";
    text = field_of(text, process->header.device, sizeof process->header.device);
    text = field_of(text, process->device_name, sizeof process->device_name);
    process->header.device_bytes = bytes_of(text, &text);
    process->compute_capability = (uint32_t)bytes_of(text, &text);
    process->multiprocessors = (uint32_t)bytes_of(text, &text);
    process->clock_khz = (uint32_t)bytes_of(text, &text);
    process->memory_clock_khz = (uint32_t)bytes_of(text, &text);
    process->memory_bus = (uint32_t)bytes_of(text, &text);
    process->header.device_count = (uint32_t)bytes_of(getenv("STEPTIME_RECORD_DEVICES"), &text);
    process->header.context_bytes = bytes_of(getenv("STEPTIME_RECORD_CHARGES"), &text);
    process->comm_bytes = bytes_of(text, &text);
    (void)st_settings_versions(process);
    const char *complete = getenv("STEPTIME_RECORD_COMPLETE");
    process->complete = complete != NULL && strcmp(complete, "1") == 0;
}

void st_settings_path(const st_process *process, const char *name, char *path, size_t bytes)
{
    enum { MOST = 1000 };
    (void)snprintf(path, bytes, "%s/%s%s", process->folder, name, ST_LOG_SUFFIX);
    for (unsigned i = 1; i < MOST && access(path, F_OK) == 0; i++)
        (void)snprintf(path, bytes, "%s/%s-%u%s", process->folder, name, i, ST_LOG_SUFFIX);
}
