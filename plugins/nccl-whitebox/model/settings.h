/* SPDX-License-Identifier: Apache-2.0 */
/* Options of the plugin as one structure, and rows of arguments as a machine and a group. */
#ifndef ST_NCCL_SETTINGS_H
#define ST_NCCL_SETTINGS_H

#include "correction.h"
#include "echo.h"
#include "model.h"

#include "describe.h"

/* ST_NCCL_NOMINAL: as NCCL predicts it, no factors. */
enum { ST_NCCL_STRUCTURE, ST_NCCL_ECHO, ST_NCCL_NOMINAL };

/* As they come. */
#define ST_NCCL_SMALL_GROUP 0.4
#define ST_NCCL_SHARPNESS   32

typedef struct st_nccl_settings {
    const st_plugin_host *host;
    int model;
    st_nccl_choices choices; /* nvls: 0 off, 1 on, ST_NCCL_ANY where a machine has eight GPUs */
    int arch;                /* ST_NCCL_ANY: from the compute capability */
    int link;                /* ST_NCCL_ANY: from the rate */
    st_nccl_factors factors;
    double link_rate;      /* byte/s, where the job has none; 0: not known */
    double nic_rate;       /* of the NICs for each GPU of a node, likewise */
    double transfer[2][2]; /* share of the calibration that unmeasured groups take: inside or
                              across, for small messages or large ones */
    int reading;           /* of Echo's table */
    st_echo_table table;
    st_nccl_correction correction;
} st_nccl_settings;

#define ST_NCCL_OPTION_COUNT 45

extern const st_plugin_option *const st_nccl_options[ST_NCCL_OPTION_COUNT];

/* Those that say what NCCL and the machine are. */
#define ST_NCCL_CHOICE(id, list, first, words)                                                     \
    OPTION_CHOICE(id, list, first, words, "NCCL 2.22.3, 2.30.7 src/graph/tuning.cc")
#define ST_NCCL_MACHINE_OPTIONS                                                                    \
    ST_NCCL_CHOICE("version", "auto 2.22.3 2.27.3 2.28.3 2.29.2 2.30.7", "auto",                   \
                   "version of NCCL whose constants are used (for a version in between, those of " \
                   "the previous one); auto: "                                                     \
                   "2.22.3, 2.29.2 for Blackwell"),                                                \
        ST_NCCL_CHOICE("arch", "auto volta ampere hopper blackwell", "auto",                       \
                       "architecture of the GPU; auto: from cluster.gpu.compute_capability"),      \
        ST_NCCL_CHOICE("link", "auto nvlink pcie", "auto",                                         \
                       "links between the GPUs of a machine; auto: NVLink from 70 GB/s"),          \
        ST_NCCL_CHOICE("cpu", "intel amd other", "intel", "processor of the machines"),            \
        ST_NCCL_CHOICE("algorithm", "auto tree ring nvls nvls-tree pat", "auto",                   \
                       "the only algorithm allowed"),                                              \
        ST_NCCL_CHOICE("protocol", "auto ll ll128 simple", "auto", "the only protocol allowed"),   \
        ST_NCCL_CHOICE("nvls", "auto off on", "auto",                                              \
                       "reduction in the NVLink switch; auto: from Hopper, where a machine has 8 " \
                       "GPUs or more")
#define ST_NCCL_CHANNELS_OPTION                                                                    \
    OPTION_NUMBER("channels", "", "0", 0.0, 64.0,                                                  \
                  "channels of a communicator; 0: as NCCL counts them",                            \
                  "NCCL 2.22.3 src/graph/connect.cc")

/* What the host's settings say, and the defaults of those that it lacks; the table of Echo is not
 * read. */
void st_nccl_read_settings(const st_plugin_host *host, st_nccl_settings *settings);

/* Name of the file with the table of Echo. */
const char *st_nccl_table_name(const st_plugin_host *host);

/* Text of the corrections. */
const char *st_nccl_correction_text(const st_plugin_host *host);

/* Messages whose latencies count most, and those whose rates do: what is known of the first says
 * little of the others. */
enum { ST_NCCL_SMALL, ST_NCCL_LARGE };

/* Columns of every provider, in this order. */
enum {
    ST_NCCL_SIZE,
    ST_NCCL_RANKS,
    ST_NCCL_PER_NODE,
    ST_NCCL_BANDWIDTH,
    ST_NCCL_GPUS,
    ST_NCCL_LINKS,
    ST_NCCL_NICS,
    ST_NCCL_CAPABILITY,
    ST_NCCL_VERSION,
    ST_NCCL_CARRIER
};
#define ST_NCCL_COLUMNS 10

/* One row; an argument that the sheet lacks is NaN. */
typedef struct st_nccl_row {
    double values[ST_NCCL_COLUMNS];
} st_nccl_row;

typedef struct st_nccl_case {
    st_nccl_machine machine;
    st_nccl_group group;
    st_nccl_choices choices;
} st_nccl_case;

/* NULL, or why the row lies outside of what the model knows. The size is not looked at. */
const char *st_nccl_read_row(const st_nccl_settings *settings, int collective,
                             const st_nccl_row *row, st_nccl_case *out);

/* The same for the size. */
const char *st_nccl_check_size(double bytes);

/* Lines of a case, calibrated. */
typedef struct st_nccl_plans {
    st_nccl_plan large; /* for messages from 1 MiB, or all */
    st_nccl_plan small; /* for those to 512 KiB, where the calibration's share differs */
    bool differ;
} st_nccl_plans;

void st_nccl_make_plans(const st_nccl_settings *settings, int collective, const st_nccl_case *from,
                        st_nccl_plans *plans);

/* How much of a message's time is that of the large ones: 0 to 512 KiB, 1 from 1 MiB. */
double st_nccl_weight_of_large(const st_nccl_plans *plans, double bytes);

#endif
