/* SPDX-License-Identifier: Apache-2.0 */
/* docs/configuration.md, written from the table of keys, so that it cannot say anything else. */
#include "job/keys.h"
#include "job/sections.h"
#include "job/value.h"
#include "steptime/keys.h"

#include <string.h>

static const char introduction[] =
    "# Configuration\n"
    "\n"
    "<!-- Generated from the table of keys in estimator/core/job/keys.c; a test compares the two. "
    "-->\n"
    "\n"
    "A job is a YAML file. It defines the `model`, the `cluster`, the plan (`parallel`, `batch`,\n"
    "`recompute`, ...) and the `sheet` that estimates it:\n"
    "\n"
    "```yaml\n"
    "model: gpt-3b\n"
    "cluster: rtx3090-pcie-32\n"
    "parallel: {tp: 2, pp: 4, dp: 4}\n"
    "batch: {global: 1024, micro: 32, sequence: 1024}\n"
    "recompute: full\n"
    "sheet: li2024\n"
    "```\n"
    "\n"
    "## Where files are found\n"
    "\n"
    "`model`, `cluster` and `cluster.gpu` are maps, or the names of files with such a map. A name\n"
    "with a `/` or with `.yaml` at its end is a path, relative to the file that contains the name\n"
    "(on the command line: to the working folder). steptime searches these places for any other\n"
    "name, in this order:\n"
    "\n"
    "1. the folders given with `--path`,\n"
    "2. the folders of the variable `STEPTIME_PATH`, separated by colons,\n"
    "3. `$XDG_CONFIG_HOME/steptime`, or `~/.config/steptime` where that variable is not set,\n"
    "4. the installed data folder,\n"
    "5. the copies inside the program.\n"
    "\n"
    "All have the same layout: `formulas/NAME.yaml` for sheets, `configs/jobs/NAME.yaml`,\n"
    "`configs/models/NAME.yaml`, `configs/clusters/NAME.yaml` and `configs/gpus/NAME.yaml`. The\n"
    "working folder is not searched: write `./NAME.yaml` for a file in it. The job `-` is read\n"
    "from standard input.\n"
    "\n"
    "## How values are written\n"
    "\n"
    "- A whole number takes any decimal form without a unit: `8`, `1e3`.\n"
    "- A number with a unit takes any unit of the right dimension: `200 Gbit/s`, `25 GB/s`,\n"
    "  `80 GiB`. `MB` is 10^6 bytes, `MiB` 2^20. Write a share as `0.62` or `62 %`.\n"
    "- Truth values are `true` and `false`.\n"
    "- Every value may name its source: `{value: 24 GiB, source: data sheet, assumption: true}`.\n"
    "  Reports show the source and mark assumptions. Every map accepts a `source` for all its\n"
    "  values, and a `doc` for its readers.\n"
    "- `model`, `cluster` and `cluster.gpu` accept a `base`, the name of a file of the same kind,\n"
    "  for the values that the map omits: `model: {base: gpt-3b, layers: 12}`.\n"
    "- `--set KEY=VALUE` overrides any key: `--set parallel.tp=8`, `--set constants.mu=0.5`.\n"
    "  `--set model=NAME` replaces a whole section, before its keys are set.\n"
    "\n"
    "A key without a default is required only if an input of the sheet reads it. Reports show\n"
    "defaults as assumptions.\n";

static void write_cell(st_buffer *buffer, const char *text)
{
    for (const char *c = text; *c != '\0'; c++)
        if (*c == '|')
            st_buffer_text(buffer, "\\|");
        else
            st_buffer_append(buffer, c, 1);
}

/* The keys and sections directly below `path` ("" for a job's top level). */
static void write_table(st_buffer *buffer, const char *path)
{
    size_t key_count = 0;
    size_t section_count = 0;
    const st_key *keys = st_keys(&key_count);
    const st_key_section *sections = st_key_sections(&section_count);
    st_buffer_text(buffer, "\n| key | value | default | meaning |\n| --- | --- | --- | --- |\n");
    for (size_t i = 0; i < key_count; i++) {
        const char *name = st_path_below(keys[i].path, path);
        if (name != NULL) {
            const st_key *key = &keys[i];
            char expectation[ST_EXPECTATION_TEXT];
            st_buffer_printf(buffer, "| `%s` | ", name);
            write_cell(buffer, st_key_expectation(key, expectation, sizeof expectation));
            if (key->default_text != NULL)
                st_buffer_printf(buffer, " | `%s` | ", key->default_text);
            else
                st_buffer_text(buffer, " | | ");
            write_cell(buffer, key->doc);
            st_buffer_text(buffer, " |\n");
        }
    }
    for (size_t i = 0; i < section_count; i++) {
        const char *name = st_path_below(sections[i].path, path);
        if (name != NULL) {
            const st_key_section *section = &sections[i];
            st_buffer_printf(buffer, "| `%s` | %s | | ", name,
                             section->is_file ? "a map or the name of a file" : "a map");
            write_cell(buffer, section->doc);
            st_buffer_text(buffer, ", see below |\n");
        }
    }
}

void st_job_write_reference(st_buffer *buffer)
{
    size_t count = 0;
    const st_key_section *sections = st_key_sections(&count);
    st_buffer_text(buffer, introduction);
    st_buffer_text(buffer, "\n## Top level\n");
    write_table(buffer, "");
    for (size_t i = 0; i < count; i++) {
        const st_key_section *section = &sections[i];
        static const char *const folders[ST_FOLDERS] = {
            [ST_FOLDER_MODELS] = "configs/models", [ST_FOLDER_CLUSTERS] = "configs/clusters",
            [ST_FOLDER_GPUS] = "configs/gpus",     [ST_FOLDER_CONSTANTS] = "configs/constants",
            [ST_FOLDER_STACKS] = "configs/stacks",
        };
        st_buffer_printf(buffer, "\n## %s\n\n", section->path);
        st_buffer_printf(buffer, "%c%s.", section->doc[0] - 'a' + 'A', section->doc + 1);
        if (section->is_file)
            st_buffer_printf(buffer, " A map, or the name of a file in `%s`.",
                             folders[section->folder]);
        st_buffer_text(buffer, "\n");
        if (strcmp(section->path, ST_KEY_CONSTANTS) == 0)
            st_buffer_text(buffer,
                           "\nAny name of letters, digits and `_` that does not begin with a "
                           "digit, except `base`, `source` and `doc`.\n");
        else
            write_table(buffer, section->path);
    }
}
