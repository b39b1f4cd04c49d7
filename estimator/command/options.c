/* SPDX-License-Identifier: Apache-2.0 */
/* Values of options: each is checked by its row and stored in the member that the row names. */
#include "command/cli.h"

#include "base/memory.h"
#include "steptime/quantity.h"

#include <assert.h>
#include <string.h>

enum { WORDS_MAX = 64, NAMES_MAX = 1000 };

const cli_option cli_help_option =
    CLI_FLAG(cli_common, help, "help", "show this help", .letter = 'h', .common = true);
const cli_option cli_version_option =
    CLI_FLAG(cli_common, version, "version", "show the version", .common = true);

static bool is_option(const cli_option *option, const char *name, size_t length, int letter)
{
    return name != NULL ? strlen(option->name) == length && strncmp(option->name, name, length) == 0
                        : option->letter != 0 && option->letter == letter;
}

const cli_option *cli_find_option(const cli_verb *verb, const char *name, size_t length, int letter)
{
    if (is_option(&cli_help_option, name, length, letter))
        return &cli_help_option;
    if (is_option(&cli_version_option, name, length, letter))
        return &cli_version_option;
    const cli_option *option = verb != NULL ? verb->options : NULL;
    for (; option != NULL && option->name != NULL; option++)
        if (is_option(option, name, length, letter))
            return option;
    return NULL;
}

bool cli_is_given(const cli_run *run, const void *member)
{
    for (size_t i = 0; i < run->given_count; i++)
        if (run->given[i].member == member)
            return true;
    return false;
}

static void *member_of(cli_run *run, const cli_option *option)
{
    char *start = option->common ? (char *)&run->common : run->options;
    return start + option->offset;
}

/* ---- values ---- */

static st_status refuse(cli_run *run, const cli_option *option, const char *value,
                        const char *expected)
{
    return st_fail(run->errors, ST_ERR_USAGE, (st_place){0},
                   "option --%s" ST_FOUND "'%.60s'" ST_EXPECTED "%s", option->name, value,
                   expected);
}

st_status cli_check_choice(cli_run *run, const char *what, const char *choices, const char *value,
                           unsigned *place)
{
    const char *names[WORDS_MAX] = {0};
    unsigned count = 0;
    for (const char *next = choices; next != NULL && *next != '\0' && count < WORDS_MAX;) {
        size_t length = strcspn(next, " ");
        if (length == strlen(value) && strncmp(next, value, length) == 0) {
            if (place != NULL)
                *place = count;
            return ST_OK;
        }
        names[count++] = st_errors_text(run->errors, "%.*s", (int)length, next);
        next += length + (next[length] == ' ' ? 1 : 0);
    }
    if (choices == NULL)
        return ST_OK;
    return st_fail(run->errors, ST_ERR_USAGE, (st_place){0},
                   "%s" ST_FOUND "'%s'" ST_EXPECTED "%s%s" ST_HINT "%s", what, value,
                   count > 1 ? "one of " : "", choices,
                   st_errors_nearest(run->errors, value, names, count));
}

/* What a count may be; one of more digits than a row allows is above everything. */
static const char *count_range(cli_run *run, const cli_option *option, bool is_huge)
{
    if (option->most == CLI_MOST_DIGITS && is_huge)
        return "a whole number of at most 18 digits";
    if (option->most >= CLI_MOST_DIGITS && option->least == 0)
        return "a whole number";
    if (option->most >= CLI_MOST_DIGITS)
        return st_errors_text(run->errors, "a whole number of at least %llu",
                              (unsigned long long)option->least);
    return st_errors_text(run->errors, "a whole number from %llu to %llu",
                          (unsigned long long)option->least, (unsigned long long)option->most);
}

st_status cli_add_text(cli_run *run, cli_texts *texts, const char *text)
{
    return ST_APPEND(run->arena, texts->items, texts->count, text) ? ST_OK
                                                                   : st_out_of_memory(run->errors);
}

static st_status refuse_name(cli_run *run, const cli_option *option, const char *message)
{
    return st_fail(run->errors, ST_ERR_USAGE, (st_place){0},
                   "option --%s %s" ST_EXPECTED "names separated by commas", option->name, message);
}

/* Splits a value at its commas, without the blanks around the parts. */
static st_status take_names(cli_run *run, const cli_option *option, const char *value,
                            cli_texts *names)
{
    st_status status = ST_OK;
    for (const char *text = value; text != NULL && status == ST_OK;) {
        const char *comma = strchr(text, ',');
        size_t length = comma != NULL ? (size_t)(comma - text) : strlen(text);
        size_t blanks = strspn(text, " ");
        const char *name = text + (blanks < length ? blanks : length);
        length -= (size_t)(name - text);
        while (length > 0 && name[length - 1] == ' ')
            length--;
        if (length == 0)
            return refuse_name(run, option, "has an empty item");
        if (names->count == NAMES_MAX)
            return refuse_name(run, option, "has too many items");
        status = cli_add_text(run, names, st_arena_copy(run->arena, name, length));
        text = comma != NULL ? comma + 1 : NULL;
    }
    return status;
}

static st_status store(cli_run *run, const cli_option *option, const char *value)
{
    void *member = member_of(run, option);
    const char *what = st_errors_text(run->errors, "option --%s", option->name);
    assert(value != NULL || option->kind == CLI_IS_FLAG); /* the words of other kinds have one */
    switch (option->kind) {
    case CLI_IS_FLAG:
        *(bool *)member = true;
        return ST_OK;
    case CLI_IS_TEXT:
        *(const char **)member = value;
        if (option->key != NULL)
            return cli_add_text(run, &run->common.sets,
                                st_arena_printf(run->arena, "%s=%s", option->key, value));
        return cli_check_choice(run, what, option->choices, value, NULL);
    case CLI_IS_CHOICE:
        return cli_check_choice(run, what, option->choices, value, member);
    case CLI_IS_COUNT: {
        uint64_t *count = member;
        uint64_t count_value = 0;
        size_t digits = strspn(value, "0123456789");
        for (size_t i = 0; i < digits; i++)
            count_value = count_value > CLI_MOST_DIGITS
                              ? UINT64_MAX
                              : 10 * count_value + (uint64_t)(value[i] - '0');
        bool is_whole = digits > 0 && value[digits] == '\0';
        if (!is_whole || count_value < option->least || count_value > option->most)
            return refuse(run, option, value,
                          count_range(run, option, is_whole && count_value > option->most));
        *count = count_value;
        return ST_OK;
    }
    case CLI_IS_NUMBER: {
        double *number = member;
        const st_unit one = st_unit_one();
        double number_value = 0;
        st_status status =
            option->pure
                ? st_quantity_parse(value, strlen(value), &one, (st_place){0}, &number_value, NULL)
                : st_number_parse(value, strlen(value), (st_place){0}, &number_value, NULL);
        if (status != ST_OK || !(number_value >= option->low && number_value <= option->high))
            return refuse(run, option, value, option->range);
        *number = number_value;
        return ST_OK;
    }
    case CLI_IS_TEXTS:
        return cli_add_text(run, member, value);
    case CLI_IS_NAMES:
        return take_names(run, option, value, member);
    }
    return ST_OK;
}

st_status cli_options_begin(cli_run *run)
{
    st_status status = ST_OK;
    if (run->verb == NULL)
        return ST_OK;
    run->options = st_arena_alloc(run->arena, run->verb->options_bytes + 1, 1);
    if (run->options == NULL)
        return ST_ERR_MEMORY;
    for (const cli_option *option = run->verb->options; option->name != NULL; option++)
        if (option->initial != NULL && status == ST_OK)
            status = store(run, option, option->initial);
    return status;
}

/* The key that `text` of --set gives is that of `option`, which has one of its own. */
static bool sets_key_of(const cli_option *option, const cli_option *set, const char *text)
{
    size_t length = option->key == NULL ? 0 : strlen(option->key);
    return length > 0 && strcmp(set->name, "set") == 0 && strncmp(text, option->key, length) == 0 &&
           text[length] == '=';
}

/* Two values of one key by --set: the last one counts, which a long line easily hides. */
static void warn_of_second(const cli_run *run, const cli_option *option, const char *value)
{
    size_t length = strcspn(value, "=") + 1;
    for (size_t i = run->given_count; i > 0; i--) {
        const cli_given *given = &run->given[i - 1];
        if (given->option != option || strncmp(given->value, value, length) != 0)
            continue;
        if (strcmp(given->value, value) != 0)
            (void)st_report(run->errors, ST_SEVERITY_WARNING, ST_ERR_USAGE,
                            (st_place){.file = st_errors_text(run->errors, "--set %s", value)},
                            "replaces '--set %.100s'", given->value);
        return;
    }
}

st_status cli_option_take(cli_run *run, const cli_option *option, const char *value)
{
    /* An option that sets a key, and --set of that key: one would win silently. */
    const cli_option *rival = NULL;
    for (size_t i = 0; value != NULL && i < run->given_count; i++) {
        const cli_given *given = &run->given[i];
        if (given->value != NULL && sets_key_of(option, given->option, given->value)) {
            rival = option;
            break;
        }
        if (sets_key_of(given->option, option, value)) {
            rival = given->option;
            break;
        }
    }
    if (rival != NULL)
        return cli_wrong_use(run,
                             st_errors_text(run->errors,
                                            "--%s and --set %s=... are mutually exclusive",
                                            rival->name, rival->key),
                             NULL);
    const void *member = member_of(run, option);
    bool repeats = option->kind == CLI_IS_FLAG || option->kind == CLI_IS_TEXTS ||
                   (option->kind == CLI_IS_NAMES && !option->once);
    if (!repeats && cli_is_given(run, member))
        return cli_wrong_use(
            run, st_errors_text(run->errors, "duplicate option --%s", option->name), NULL);
    if (value != NULL && strcmp(option->name, "set") == 0)
        warn_of_second(run, option, value);
    run->given[run->given_count++] = (cli_given){option, member, value};
    return store(run, option, value);
}
