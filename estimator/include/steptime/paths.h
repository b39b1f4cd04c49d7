/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search path for formulas and configs.
 *
 * Roots are tried in this order, first hit wins: --path folders, STEPTIME_PATH (colon-separated),
 * the user's folder ($XDG_CONFIG_HOME/steptime or ~/.config/steptime), the installed data folder,
 * the copies embedded in the library. A root has the project's layout: formulas/NAME.yaml,
 * configs/models/NAME.yaml and so on. A name that contains '/' or ends in ".yaml" is a file, and
 * the roots are not searched; the working folder is never searched for a bare name.
 */
#ifndef STEPTIME_PATHS_H
#define STEPTIME_PATHS_H

#include "steptime/sheet.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct st_paths st_paths;

typedef enum st_folder {
    ST_FOLDER_SHEETS,     /* formulas */
    ST_FOLDER_JOBS,       /* configs/jobs */
    ST_FOLDER_MODELS,     /* configs/models */
    ST_FOLDER_CLUSTERS,   /* configs/clusters */
    ST_FOLDER_GPUS,       /* configs/gpus */
    ST_FOLDER_CONSTANTS,  /* configs/constants: what `steptime fit` writes */
    ST_FOLDER_STACKS,     /* configs/stacks: defaults of a software stack */
    ST_FOLDER_LAYERS,     /* configs/layers */
    ST_FOLDER_VALIDATION, /* validation/SOURCE/cases.yaml: named SOURCE */
    ST_FOLDER_TABLES,     /* validation/SOURCE/table.yaml: named SOURCE */
    ST_FOLDER_ERRORS,     /* configs/errors: known errors of a sheet's estimates, by its name */
    ST_FOLDER_TOPOLOGIES, /* configs/topologies */
    ST_FOLDER_STEPS,      /* configs/steps: tables of the steps of a collective */
    ST_FOLDER_KERNELS,    /* configs/kernels: what recorded kernels do */
    ST_FOLDER_VIEWS,      /* views/NAME.sql: questions about recordings */
    ST_FOLDER_LAUNCHES,   /* configs/launches: what releases of frameworks accept */
    ST_FOLDER_PEERS,      /* configs/peers: keys of files of other estimators */
    ST_FOLDERS
} st_folder;

/*
 * `folders` are --path arguments; a folder that does not exist is an error. `paths` is set on
 * success, for st_paths_destroy, to which NULL is fine.
 */
ST_API st_status st_paths_create(const char *const *folders, size_t count, st_paths **paths,
                                 st_errors *errors) ST_NODISCARD;
ST_API void st_paths_destroy(st_paths *paths);

/*
 * Reads a file by name or path. `place` is the reference to it: a relative path inside a file is
 * relative to that file. "-" is standard input (jobs only). Sizes are capped; a folder, a missing
 * file or an unknown name (with the nearest known one) is reported at `place`.
 */
ST_API st_status st_paths_read(const st_paths *paths, st_folder folder, const char *name,
                               st_place place, st_arena *arena, st_source *source,
                               st_errors *errors) ST_NODISCARD;

typedef struct st_path_entry {
    const char *name; /* without ".yaml" */
    const char *root; /* which root it comes from; "<embedded>" for the library's own */
} st_path_entry;

/* Every name in a folder over all roots, sorted, each once with the root that wins. */
ST_API st_status st_paths_list(const st_paths *paths, st_folder folder, st_arena *arena,
                               const st_path_entry **entries, size_t *count,
                               st_errors *errors) ST_NODISCARD;

/* A sheet reader over the search path; `paths` must outlive it. */
ST_API st_sheet_reader st_paths_sheet_reader(const st_paths *paths);

#ifdef __cplusplus
}
#endif
#endif
