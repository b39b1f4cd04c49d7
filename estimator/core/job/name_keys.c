/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Build tool: writes steptime/keys.h from the table of keys, so that C names keys and sections of
 * jobs by identifiers and a misspelt one does not compile.
 *
 *     name-keys OUTPUT.h
 */
#include "job/keys.h"

#include <ctype.h>
#include <stdio.h>

static void write_identifier(FILE *file, const char *path)
{
    fputs("#define ST_KEY_", file);
    for (const char *c = path; *c != '\0'; c++)
        fputc(*c == '.' ? '_' : toupper((unsigned char)*c), file);
    fprintf(file, " \"%s\"\n", path);
}

int main(int argc, char **argv)
{
    FILE *file = argc == 2 ? fopen(argv[1], "w") : NULL;
    if (file == NULL) {
        fputs("usage: name-keys OUTPUT.h\n", stderr);
        return 1;
    }
    fputs("/* SPDX-License-Identifier: Apache-2.0 */\n"
          "/* Every key and section of jobs, from estimator/core/job/keys.c. */\n"
          "#ifndef STEPTIME_KEYS_H\n#define STEPTIME_KEYS_H\n\n",
          file);
    size_t count;
    const st_key *keys = st_keys(&count);
    for (size_t i = 0; i < count; i++)
        write_identifier(file, keys[i].path);
    const st_key_section *sections = st_key_sections(&count);
    for (size_t i = 0; i < count; i++)
        write_identifier(file, sections[i].path);
    fputs("\n#endif\n", file);
    return fclose(file) == 0 ? 0 : 1;
}
