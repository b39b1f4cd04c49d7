/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a verb of a tool in this process, twice, and prints the second answer: called WORD... */
#include <steptime/fit.h>
#include <steptime/launch.h>
#include <steptime/trace.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef st_status run_verb(const char *const *words, size_t count, st_answer *answer,
                           st_errors *errors);

static run_verb *runner_of(const char *verb)
{
    if (strcmp(verb, "trace") == 0)
        return st_trace_run;
    return strcmp(verb, "import") == 0 || strcmp(verb, "export") == 0 ? st_launch_run : st_fit_run;
}

int main(int argc, char **argv)
{
    st_errors *errors = st_errors_create();
    st_answer answers[2] = {ST_ANSWER_INIT, ST_ANSWER_INIT};
    int code = 1;
    if (argc < 2 || errors == NULL)
        return 2;
    st_answer unset = {0, 0, NULL, 0};
    if (runner_of(argv[1])((const char *const *)argv + 1, (size_t)argc - 1, &unset, errors) !=
        ST_ERR_USAGE)
        return 93;
    for (int i = 0; i < 2; i++) {
        st_errors_clear(errors);
        st_status status = runner_of(argv[1])((const char *const *)argv + 1, (size_t)argc - 1,
                                              &answers[i], errors);
        code = answers[i].exit_code;
        if ((status == ST_OK) != (code == 0 || code == 3))
            return 90;
    }
    if ((answers[0].text == NULL) != (answers[1].text == NULL) ||
        (answers[0].text != NULL && strcmp(answers[0].text, answers[1].text) != 0))
        return 91;
    if (answers[1].text != NULL && strlen(answers[1].text) != answers[1].length)
        return 92;
    if (answers[1].text != NULL)
        (void)fwrite(answers[1].text, 1, answers[1].length, stdout);
    st_errors_write(errors, stderr);
    free(answers[0].text);
    free(answers[1].text);
    st_errors_destroy(errors);
    return code;
}
