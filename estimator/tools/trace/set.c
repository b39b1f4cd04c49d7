/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a job's ranks: finding them, reading several at a time, and whether they fit. */
#include "base/hash.h"
#include "base/oom_flag.h"
#include "trace/devices.h"
#include "trace/link.h"
#include "trace/same_job.h"
#include "trace/store.h"
#include "trace/xalloc.h"

#include <dirent.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Which reader a file needs; see store.h. */

static st_trace_format format_of(const char *path)
{
    static const char database[16] = "SQLite format 3";
    char begin[sizeof database] = {0};
    struct stat info;
    if (st_ends_in(path, ".xplane.pb") || st_ends_in(path, ".xplane.pb.gz"))
        return ST_FORMAT_XPLANE;
    /* A pipe could be read only once. */
    FILE *file = stat(path, &info) == 0 && S_ISREG(info.st_mode) ? fopen(path, "rb") : NULL;
    if (file == NULL)
        return ST_FORMAT_KINETO;
    size_t got = fread(begin, 1, sizeof begin, file);
    (void)fclose(file);
    return got == sizeof begin && memcmp(begin, database, sizeof begin) == 0 ? ST_FORMAT_NSYS
                                                                             : ST_FORMAT_KINETO;
}

/* Recordings that another program must write anew first; read.c knows others by their bytes. */
static st_status check_ending(const char *path, st_errors *errors)
{
    static const struct {
        const char *ending;
        const char *what;
        const char *remedy;
    } others[] = {
        {".pftrace", "a trace in Perfetto's binary form", "rocprofv3 --output-format json"},
        {".perfetto-trace", "a trace in Perfetto's binary form", "traceconv json FILE OUTPUT.json"},
        {".nsys-rep", "a report of Nsight Systems", "nsys export --type sqlite FILE"},
        {".qdrep", "a report of Nsight Systems", "nsys export --type sqlite FILE"},
        {".rpd", "a database of rocmProfileData", "rpd2tracing.py FILE OUTPUT.json"},
    };
    for (size_t i = 0; i < ST_COUNT(others); i++)
        if (st_ends_in(path, others[i].ending) && access(path, F_OK) == 0)
            return st_fail(errors, ST_ERR_SYNTAX, (st_place){.file = path}, ST_FOREIGN_FORMAT,
                           others[i].what, others[i].remedy);
    return ST_OK;
}

st_status st_trace_parts(const char *path, size_t *count, st_errors *errors)
{
    *count = 1;
    if (check_ending(path, errors) != ST_OK)
        return ST_ERR_SYNTAX;
    switch (format_of(path)) {
    case ST_FORMAT_NSYS:
        return st_nsys_count(path, count, errors);
    case ST_FORMAT_XPLANE:
        return st_xplane_count(path, count, errors);
    case ST_FORMAT_KINETO:
        break;
    }
    return ST_OK;
}

st_status st_trace_read_part(const st_trace_part *part, const st_trace_options *options,
                             st_trace **trace, st_errors *errors)
{
    bool partial = options != NULL && options->partial;
    st_store *store = NULL;
    st_trace_format format = format_of(part->path);
    if (format == ST_FORMAT_KINETO)
        return st_trace_read(part->path, options, trace, errors);
    st_store_create(part->path, options, &store);
    st_status status = format == ST_FORMAT_NSYS ? st_nsys_read(part, partial, store, errors)
                                                : st_xplane_read(part, partial, store, errors);
    if (status == ST_OK)
        st_store_finish(store);
    if (status == ST_OK)
        status = st_trace_check(&store->trace, partial, errors);
    if (status == ST_OK)
        *trace = &store->trace;
    else
        st_store_destroy(store);
    return status;
}

/* A collective of a rank in its group's sequence. */
typedef struct place {
    uint64_t group;
    int64_t sequence;
    uint32_t rank; /* in the set */
    const char *name;
    int64_t elements;
} place;

typedef struct agreement {
    size_t same;
    size_t other;
    place own; /* the first that differs, and with what */
    place theirs;
} agreement;

/* --- groups ----------------------------------------------------------------------------------- */

/* True where a list such as "[0, 1]" is whole, not empty, and lacks the rank. */
static bool lacks_rank(const char *list, int64_t rank)
{
    bool any = false;
    if (*list != '[' || strstr(list, "...") != NULL)
        return false;
    for (const char *next = list + 1; *next != '\0' && *next != ']';) {
        char *end = NULL;
        long long one = strtoll(next, &end, 10);
        if (end == next || one == rank)
            return false;
        any = true;
        next = end + strspn(end, ", ");
    }
    return any && list[strlen(list) - 1] == ']';
}

static st_status check_groups(const st_trace *trace, st_errors *errors)
{
    for (size_t i = 0; i < trace->collective_count && trace->rank >= 0; i++) {
        const st_trace_collective *one = &trace->collectives[i];
        const char *list = st_trace_name(trace, one->ranks);
        if (lacks_rank(list, trace->rank))
            return st_fail(errors, ST_ERR_VALUE, (st_place){.file = trace->file},
                           "rank %lld has a collective of the ranks %.80s: it is of another job",
                           (long long)trace->rank, list);
        if (trace->world_size > 0 && one->group_size > trace->world_size)
            return st_fail(errors, ST_ERR_VALUE, (st_place){.file = trace->file},
                           "a collective of %lld ranks in a job of %lld: it is of another job",
                           (long long)one->group_size, (long long)trace->world_size);
    }
    return ST_OK;
}

/* --- sequences -------------------------------------------------------------------------------- */

/* False for what has no place in a sequence that all of the group share. */
static bool find_place(const st_trace *trace, size_t collective, uint32_t rank, place *made)
{
    const st_trace_collective *one = &trace->collectives[collective];
    const char *name = st_trace_name(trace, one->name);
    bool alone = strcmp(name, "send") == 0 || strcmp(name, "recv") == 0;
    if (one->sequence < 0 || one->ranks == ST_TRACE_NONE || one->group_size == 1 || alone)
        return false;
    uint64_t group = st_hash_next_text(ST_HASH_BEGIN, st_trace_name(trace, one->group));
    *made = (place){.group = st_hash_next_text(group, st_trace_name(trace, one->ranks)),
                    .sequence = one->sequence,
                    .rank = rank,
                    .name = name,
                    .elements = one->in_elements};
    return true;
}

ST_COMPARE(compare_places, place,
           ST_RISING(group) ST_RISING(sequence) ST_RISING(rank) ST_BY_TEXT(name)
               ST_RISING(elements));

static st_status check_sequences(st_trace *const *ranks, size_t count, st_errors *errors)
{
    size_t most = 1;
    size_t used = 0;
    st_status status = ST_OK;
    for (size_t i = 0; i < count; i++)
        most += ranks[i]->collective_count;
    place *places = st_xmalloc(most * sizeof *places);
    agreement *found = st_xcalloc(count, sizeof *found);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < ranks[i]->collective_count; k++)
            used += find_place(ranks[i], k, (uint32_t)i, &places[used]);
    qsort(places, used, sizeof *places, compare_places);
    /* Counts, for every rank, where it agrees with the first rank that has the place. */
    size_t first = 0;
    for (size_t i = 1; i < used; i++) {
        const place *one = &places[i];
        if (one->group != places[first].group || one->sequence != places[first].sequence) {
            first = i;
            continue;
        }
        if (one->rank == places[i - 1].rank) /* several that were put together */
            continue;
        agreement *own = &found[one->rank];
        /* Only of an all-reduce must all ranks send as much. */
        bool same = false;
        const place *b = &places[first];
        if (strcmp(one->name, b->name) == 0)
            same = strcmp(one->name, "allreduce") != 0 || one->elements == b->elements ||
                   one->elements < 0 || b->elements < 0;
        if (!same && own->other++ == 0) {
            own->own = *one;
            own->theirs = places[first];
        }
        own->same += same;
    }
    for (size_t i = 0; i < count; i++) {
        st_status one = ST_OK;
        const agreement *own = &found[i];
        if (own->other > own->same) {
            const st_trace *theirs = ranks[own->theirs.rank];
            one =
                st_fail(errors, ST_ERR_VALUE, (st_place){.file = ranks[i]->file},
                        "%zu of %zu collectives are not those of %s: number %lld is %.40s of %lld "
                        "elements, there %.40s of %lld: these are different jobs",
                        own->other, own->other + own->same, theirs->file,
                        (long long)own->own.sequence, own->own.name, (long long)own->own.elements,
                        own->theirs.name, (long long)own->theirs.elements);
        }
        status = status == ST_OK ? one : status;
    }
    free(places);
    free(found);
    return status;
}

/* --- GPUs ------------------------------------------------------------------------------------- */

st_status st_trace_check_job(st_trace *const *ranks, size_t count, bool partial, st_errors *errors)
{
    st_status status = ST_OK;
    for (size_t i = 0; i < count && count > 1; i++) {
        st_status one = check_groups(ranks[i], errors);
        if (one == ST_OK) {
            const st_trace *first = ranks[0];
            const st_trace *trace = ranks[i];
            const char *own = st_trace_name(trace, trace->gpu);
            const char *other = st_trace_name(first, first->gpu);
            if (*own != '\0' && *other != '\0' && strcmp(own, other) != 0) {
                st_report(
                    errors, partial ? ST_SEVERITY_WARNING : ST_SEVERITY_ERROR, ST_ERR_VALUE,
                    (st_place){.file = trace->file},
                    "recorded on %.80s, %s on %.80s: these seem to be different jobs" ST_HINT "%s",
                    own, first->file, other, partial ? "" : "--partial takes them for one job");
                one = partial ? ST_OK : ST_ERR_VALUE;
            }
        }
        status = status == ST_OK ? one : status;
    }
    return status == ST_OK && count > 1 ? check_sequences(ranks, count, errors) : status;
}

/* Ranks of one job are recorded together; clocks of hosts differ by far less. */
static const int64_t MOST_APART_NS = INT64_C(60) * 1000000000;

typedef struct found_file {
    const char *path;
    size_t part;    /* of a file that holds several ranks */
    bool in_folder; /* found there: files that are not traces are skipped */
    st_trace *trace;
    st_errors *errors;
    st_status status;
} found_file;

typedef struct finder {
    st_arena *arena;
    found_file *files;
    size_t count;
    const st_trace_options *options;
    st_errors *errors;
    atomic_size_t next;
} finder;

static st_status add_file(finder *f, const char *path, bool in_folder)
{
    if (f->count >= ST_TRACE_MAX_RANKS)
        return st_fail(f->errors, ST_ERR_LIMIT, (st_place){.file = path},
                       "too many files" ST_EXPECTED "at most 65536 ranks");
    char *copy = st_xcopy(f->arena, path, strlen(path));
    size_t parts = 1;
    st_status status = st_trace_parts(path, &parts, f->errors);
    for (size_t i = 0; i < parts && status == ST_OK; i++) {
        const found_file made = {.path = copy, .part = i, .in_folder = in_folder};
        ST_XAPPEND(f->arena, f->files, f->count, made);
    }
    return status;
}

ST_COMPARE(compare_files, found_file, ST_BY_TEXT(path) ST_RISING(part));

static st_status add_folder(finder *f, const char *path)
{
    size_t first = f->count;
    st_status status = ST_OK;
    DIR *folder = st_open_folder(path);
    if (folder == NULL)
        return st_fail(f->errors, ST_ERR_IO, (st_place){.file = path}, "cannot read the folder: %s",
                       strerror(errno));
    for (struct dirent *entry = readdir(folder); entry != NULL && status == ST_OK;
         entry = readdir(folder)) {
        bool is_recording = false;
        static const char *const endings[] = {".json", ".json.gz", ".sqlite", ".xplane.pb",
                                              "_results.db"};
        for (size_t i = 0; i < ST_COUNT(endings); i++)
            if (entry->d_name[0] != '.' && st_ends_in(entry->d_name, endings[i])) {
                is_recording = true;
                break;
            }
        if (!is_recording)
            continue;
        const char *slash = st_ends_in(path, "/") ? "" : "/";
        char *file = st_xprintf(f->arena, "%s%s%s", path, slash, entry->d_name);
        /* XLA's profiler writes HOST.trace.json.gz from HOST.xplane.pb, with a part of its events.
         */
        static const char part[] = ".trace.json.gz";
        if (st_ends_in(file, part) &&
            access(
                st_xprintf(f->arena, "%.*s.xplane.pb", (int)(strlen(file) + 1 - sizeof part), file),
                F_OK) == 0)
            continue;
        status = add_file(f, file, true);
    }
    (void)closedir(folder);
    if (status == ST_OK && f->count == first)
        return st_fail(
            f->errors, ST_ERR_IO, (st_place){.file = path},
            "the folder holds no .json, .json.gz, .sqlite, .xplane.pb or _results.db file");
    if (f->count > first)
        qsort(f->files + first, f->count - first, sizeof *f->files, compare_files);
    return status;
}

static st_status find_files(finder *f, const char *const *paths, size_t count)
{
    st_status status = ST_OK;
    for (size_t i = 0; i < count && status == ST_OK; i++) {
        struct stat info;
        bool is_folder = stat(paths[i], &info) == 0 && S_ISDIR(info.st_mode);
        status = is_folder ? add_folder(f, paths[i]) : add_file(f, paths[i], false);
    }
    return status;
}

static st_status read_files(void *context)
{
    finder *f = context;
    for (;;) {
        size_t i = atomic_fetch_add(&f->next, 1);
        if (i >= f->count)
            return ST_OK;
        found_file *file = &f->files[i];
        file->errors = st_xmemory(st_errors_create());
        file->status = st_trace_read_part(&(st_trace_part){file->path, file->part}, f->options,
                                          &file->trace, file->errors);
    }
}

/* Hands the messages on in the order of the files. */
static st_status gather(finder *f)
{
    st_status status = ST_OK;
    size_t kept = 0;
    for (size_t i = 0; i < f->count; i++) {
        found_file *file = &f->files[i];
        if (file->status == ST_ERR_NAME && file->in_folder) {
            st_report(f->errors, ST_SEVERITY_WARNING, ST_ERR_NAME, (st_place){.file = file->path},
                      "not a profiler's trace, left out");
            st_errors_destroy(file->errors);
            continue;
        }
        for (size_t k = 0; file->errors != NULL && k < st_errors_size(file->errors); k++)
            (void)st_errors_add(f->errors, st_errors_at(file->errors, k));
        st_errors_destroy(file->errors);
        file->errors = NULL;
        status = status == ST_OK ? file->status : status;
        f->files[kept++] = *file;
    }
    f->count = kept;
    if (status == ST_OK && kept == 0)
        return st_fail(f->errors, ST_ERR_NAME, (st_place){0},
                       "none of the files is a profiler's trace");
    return status;
}

/* A file of several ranks is read once for each of them. */
static st_status read_parts(finder *f)
{
    size_t count = f->count;
    st_status status = ST_OK;
    for (size_t i = 0; i < count && status == ST_OK; i++) {
        size_t parts = f->files[i].trace->parts;
        st_trace_options options = f->options != NULL ? *f->options : (st_trace_options){0};
        for (size_t k = 1; k <= parts && status == ST_OK; k++) {
            st_trace *part = NULL;
            options.part = k;
            status = st_trace_read(f->files[i].path, &options, &part, f->errors);
            if (status == ST_OK && k > 1)
                status = add_file(f, f->files[i].path, f->files[i].in_folder);
            if (status != ST_OK) {
                st_trace_destroy(part);
                break;
            }
            found_file *file = &f->files[k == 1 ? i : f->count - 1];
            st_trace_destroy(file->trace);
            file->trace = part;
        }
    }
    return status;
}

/*
 * Devices of one file become ranks: those of merged ranks, which each have a process, and, where
 * that is asked for, those that one process drives, of which each has the host's events.
 */
static st_status read_devices(finder *f)
{
    size_t count = f->count;
    st_status status = ST_OK;
    for (size_t i = 0; i < count && status == ST_OK; i++) {
        st_trace_device *devices = NULL;
        bool are_ranks = false;
        const found_file own = f->files[i];
        size_t found = st_trace_devices(own.trace, f->arena, &devices, &are_ranks);
        if (found < 2 || (!are_ranks && (f->options == NULL || !f->options->apart)))
            continue;
        bool of_job = are_ranks && own.trace->world_size == (int64_t)found;
        for (size_t k = 0; k < found && status == ST_OK; k++) {
            st_trace *part = own.trace;
            if (k > 0)
                status = st_trace_read_part(&(st_trace_part){own.path, own.part}, f->options, &part,
                                            f->errors);
            if (k > 0 && status == ST_OK) {
                found_file made = own;
                made.trace = part;
                ST_XAPPEND(f->arena, f->files, f->count, made);
            }
            if (status == ST_OK && f->count > ST_TRACE_MAX_RANKS)
                status = st_fail(f->errors, ST_ERR_LIMIT, (st_place){.file = own.path},
                                 "too many devices" ST_EXPECTED "at most 65536 ranks");
            part->rank = of_job ? (int64_t)k : -1;
            part->world_size = of_job ? (int64_t)found : -1;
            part->is_apart = true;
            part->device = devices[k].number;
        }
        /* The first recording is the one whose devices were listed: it is cut last. */
        for (size_t k = 0; k < found && status == ST_OK; k++)
            st_trace_keep_device(k == 0 ? own.trace : f->files[f->count - found + k].trace,
                                 &devices[k]);
    }
    return status;
}

ST_COMPARE(compare_ranks, found_file, ST_RISING(trace->rank));

static void window_of(const st_trace *trace, int64_t *start_ns, int64_t *end_ns)
{
    int64_t base = trace->base_ns > 0 ? trace->base_ns : 0;
    *start_ns = base;
    *end_ns = base;
    if (trace->event_count == 0)
        return;
    *start_ns += trace->events[0].start_ns;
    *end_ns += st_trace_end_ns(&trace->events[trace->event_count - 1]);
}

/* Against the first file, after sorting by rank. */
static st_status check_pair(finder *f, const found_file *first, const found_file *file)
{
    const st_trace *a = first->trace;
    const st_trace *b = file->trace;
    if (b->rank == (file - 1)->trace->rank)
        return st_fail(f->errors, ST_ERR_VALUE, (st_place){.file = file->path},
                       "rank %lld is also in %s" ST_HINT "give one file per rank of one job",
                       (long long)b->rank, (file - 1)->path);
    if (a->world_size != b->world_size && (a->world_size < 0 || b->world_size < 0))
        return st_fail(f->errors, ST_ERR_VALUE, (st_place){.file = file->path},
                       "only one of this file and %s states the number of ranks of its job" ST_HINT
                       "give the files of one job",
                       first->path);
    if (a->world_size != b->world_size)
        return st_fail(f->errors, ST_ERR_VALUE, (st_place){.file = file->path},
                       "a job of %lld ranks, but that of %s has %lld: these are different jobs",
                       (long long)b->world_size, first->path, (long long)a->world_size);
    int64_t apart;
    int64_t a_start = 0;
    int64_t a_end = 0;
    int64_t b_start = 0;
    int64_t b_end = 0;
    window_of(a, &a_start, &a_end);
    window_of(b, &b_start, &b_end);
    if (a_start > b_end)
        apart = a_start - b_end;
    else
        apart = b_start > a_end ? b_start - a_end : 0;
    if (apart > MOST_APART_NS)
        return st_fail(f->errors, ST_ERR_VALUE, (st_place){.file = file->path},
                       "recorded %.0f s apart from %s: these are different jobs, or different runs",
                       (double)apart / 1e9, first->path);
    return ST_OK;
}

static st_status check_set(finder *f)
{
    /* Files that say no rank are numbered as they come. */
    st_status status = ST_OK;
    size_t silent = 0;
    for (size_t i = 0; i < f->count; i++)
        silent += f->files[i].trace->rank < 0;
    if (silent == f->count) {
        for (size_t i = 0; f->count > 1 && i < f->count; i++)
            f->files[i].trace->rank = (int64_t)i;
    } else {
        for (size_t i = 0; i < f->count && silent > 0; i++) {
            if (f->files[i].trace->rank < 0) {
                status = st_fail(f->errors, ST_ERR_VALUE, (st_place){.file = f->files[i].path},
                                 "the file does not state its rank, but others do" ST_HINT
                                 "give the files of one job");
                break;
            }
        }
    }
    if (status != ST_OK)
        return status;
    qsort(f->files, f->count, sizeof *f->files, compare_ranks);
    for (size_t i = 1; i < f->count; i++) {
        st_status pair = check_pair(f, &f->files[0], &f->files[i]);
        status = status == ST_OK ? pair : status;
    }
    if (status != ST_OK)
        return status;
    const st_trace *first = f->files[0].trace;
    bool partial = f->options != NULL && f->options->partial;
    int64_t expected = 0;
    if (f->count < 2 || first->world_size < 0 || (size_t)first->world_size == f->count)
        return ST_OK;
    for (size_t i = 0; i < f->count && f->files[i].trace->rank == expected; i++)
        expected++;
    st_report(f->errors, partial ? ST_SEVERITY_WARNING : ST_SEVERITY_ERROR, ST_ERR_VALUE,
              (st_place){0},
              "%zu of %lld ranks are given; the first missing rank is %lld" ST_HINT "%s", f->count,
              (long long)first->world_size, (long long)expected,
              partial ? "" : "--partial uses the ranks that are there");
    return partial ? ST_OK : ST_ERR_VALUE;
}

st_status st_trace_set_read(const char *const *paths, size_t count, const st_trace_options *options,
                            st_trace_set **set, st_errors *errors)
{
    finder f = {.arena = st_xarena(), .options = options, .errors = errors};
    st_status status = find_files(&f, paths, count);
    if (status == ST_OK) {
        const long processors = sysconf(_SC_NPROCESSORS_ONLN);
        const size_t readers = processors > 1 ? (size_t)processors : 1;
        st_xteam(read_files, &f, readers < f.count ? readers : f.count);
        status = gather(&f);
    }
    if (status == ST_OK)
        status = read_parts(&f);
    if (status == ST_OK)
        status = read_devices(&f);
    if (status == ST_OK)
        status = check_set(&f);
    if (status == ST_OK) {
        st_trace_set *made = st_xalloc(f.arena, 1, sizeof *made);
        st_trace **ranks = st_xalloc(f.arena, f.count, sizeof(st_trace *));
        for (size_t i = 0; i < f.count; i++)
            ranks[i] = f.files[i].trace;
        *made = (st_trace_set){.ranks = ranks,
                               .count = f.count,
                               .world_size = f.files[0].trace->world_size,
                               .arena = f.arena};
        *set = made;
    }
    if (status == ST_OK)
        status = st_trace_check_job((*set)->ranks, (*set)->count,
                                    options != NULL && options->partial, errors);
    if (status != ST_OK) {
        *set = NULL;
        for (size_t i = 0; i < f.count; i++)
            st_trace_destroy(f.files[i].trace);
        st_arena_destroy(f.arena);
    }
    return status;
}

void st_trace_set_destroy(st_trace_set *set)
{
    if (set == NULL)
        return;
    for (size_t i = 0; i < set->count; i++)
        st_trace_destroy(set->ranks[i]);
    st_arena_destroy(set->arena);
}
