/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Importers: what other programs know of a model or a run, as a job file.
 *
 * An importer writes down what its source says, each value with the field that it comes from, and
 * invents nothing: what the source does not say stays out, is named in a comment and is asked for
 * by whoever estimates the job.
 */
#ifndef STEPTIME_IMPORT_IMPORT_H
#define STEPTIME_IMPORT_IMPORT_H

#include "base/lists.h"
#include "steptime/job.h"

typedef struct st_import_request {
    const st_paths *paths;
    const char *file; /* what messages call the source */
    const char *text; /* the source, of any bytes */
    size_t length;
    const char *cluster;     /* the job's cluster, by name; NULL: left open */
    const char *model;       /* in place of the source's, by name; NULL: the source has one */
    const char *assume;      /* HF: read the file as one of this architecture; NULL: what it says */
    bool strict;             /* a key that nothing reads is an error */
    const char *const *sets; /* "key=value" for keys of the job; they win over the source */
    size_t set_count;
    /*
     * What the source itself carries as "key=value", also for constants and the cluster's name;
     * `sets` and `cluster` win over it.
     */
    const char *const *carried;
    size_t carried_count;
    const struct st_import_request *log; /* has the times of the steps; NULL: the text itself */
    const char *(*name_of)(const char *argument); /* the source's own; NULL: Megatron's */
    bool *is_single_step; /* set where one step alone has a time; NULL: not asked */
    const char *what;     /* the text is, for the title of the job; NULL: its own */
    struct st_node
        *report; /* takes the job as data, and every key of the source; NULL: not asked */
} st_import_request;

/*
 * Appends the job file that a Hugging Face config.json gives. Refused: architectures that are not
 * decoder-only transformers or not known, missing fields, values that do not fit each other.
 * ST_ERR_USAGE where the library was built without yajl.
 */
st_status st_import_hf(const st_import_request *request, st_buffer *job,
                       st_errors *errors) ST_NODISCARD;

/* Copies the name of an architecture that st_import_hf reads; false behind the last one. */
enum { ST_IMPORT_HF_NAME = 64 };
bool st_import_hf_architecture(size_t index, char name[ST_IMPORT_HF_NAME]);

/*
 * Appends the job file that a run of Megatron-LM gives: its command line, or its log with the dump
 * of arguments and the iteration times, whose median becomes measured.step_time.
 */
st_status st_import_megatron(const st_import_request *request, st_buffer *job,
                             st_errors *errors) ST_NODISCARD;

/*
 * Appends the job that files of Calculon (execution, application, system, stats) or of SimuMax
 * (strategy, model, system, result) give, in any order; the time that they print becomes
 * measured.step_time. Systems are optional, and not read where the request has a cluster. Refused:
 * unknown keys and values that no key of a job says. Of the request the paths, the cluster and the
 * assignments are read.
 */
st_status st_import_peer(const st_import_request *request, const st_source *files, size_t count,
                         st_buffer *job, st_errors *errors) ST_NODISCARD;

/*
 * Appends the layer list (schedule/layer_list.h) that a text with a line for each layer gives
 * (docs/layers.md). Only paths, file, text and length of the request are read. All errors are
 * reported with their places.
 */
st_status st_import_layers(const st_import_request *request, st_buffer *layers,
                           st_errors *errors) ST_NODISCARD;

typedef struct st_topology_request {
    const char *file; /* what messages call the source */
    const char *text; /* XML, of any bytes */
    size_t length;
    const char *gpu; /* the cluster's GPU, by name; NULL: left open */
    size_t nodes;    /* 0: those that the file describes */
    /* Of that GPU, 0: not known; a file of GPUs that have another one is refused. */
    double compute_capability;
    double link_bandwidth; /* of that GPU, byte/s, for files without NVLinks; 0: not known */
} st_topology_request;

/*
 * Appends the description of a cluster that NCCL's topology file gives (NCCL_TOPO_DUMP_FILE, or the
 * file of a cloud): GPUs per node, NVLinks or PCIe between them, NICs and their speed. Refused: bad
 * XML, document types, no GPU, counts and speeds that no machine has. ST_ERR_USAGE where the
 * library was built without expat.
 */
st_status st_import_nccl_topology(const st_topology_request *request, st_buffer *cluster,
                                  st_errors *errors) ST_NODISCARD;

#endif
