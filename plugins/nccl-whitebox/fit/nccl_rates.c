/* SPDX-License-Identifier: Apache-2.0 */
/* Rates in the headings of tables; see nccl_rates.h. */
#include "nccl-whitebox/fit/nccl_rates.h"

#include "base/chars.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CLAUSE = 200, MOST_PORTS = 64, MOST_PER_NODE = 1024 };

/* Gbit/s of a port of InfiniBand by generation (InfiniBand Trade Association, roadmap). */
static const struct {
    const char *word;
    double giga;
} generations[] = {{"edr", 100}, {"hdr", 200}, {"ndr", 400}, {"xdr", 800}};

typedef enum scope { OF_NOTHING, OF_A_PORT, OF_A_GPU, OF_A_NODE } scope;

/* What one clause says. */
typedef struct clause {
    char text[MOST_CLAUSE]; /* lower case but for the B of bytes, '-' as a blank */
    bool is_of_links;
    double rate;   /* byte/s as written; 0: none */
    double second; /* another one behind it */
    double ports;
    scope of;
    bool both_ways;
    bool one_way;
} clause;

typedef struct heading {
    const st_nccl_table *table;
    st_nccl_rates *rates;
    st_errors *errors;
    double ports; /* without a rate: "4 HCAs", "one HCA per GPU" */
    double node;  /* byte/s of the first statement on the network */
    scope of;     /* of that one */
} heading;

/* ---- words ---- */

/* Whether one of the words, apart by '|', begins at `text`. */
static bool begins_any(const char *text, const char *words)
{
    for (;; words++) {
        size_t length = strcspn(words, "|");
        if (strncmp(text, words, length) == 0)
            return true;
        words += length;
        if (*words == '\0')
            return false;
    }
}

/* Whether `text` contains one of them. */
static bool has(const char *text, const char *words)
{
    for (; *text != '\0'; text++)
        if (begins_any(text, words))
            return true;
    return false;
}

static const char *skip_blanks(const char *at)
{
    while (*at == ' ' || *at == '(' || *at == '*')
        at++;
    return at;
}

/* Byte/s of one of the unit at `at`; 0 where it is none. A lone G counts behind a count of ports or
 * a number that no other G would have. */
static double unit_at(const char *at, double number, bool counted)
{
    double scale = *at == 'g' ? 1e9 : *at == 't' ? 1e12 : *at == 'm' ? 1e6 : 0;
    if (scale == 0)
        return 0;
    at++;
    if (begins_any(at, "B/s|Bps|Bytes/s"))
        return scale;
    if (begins_any(at, "b/s|bps|bit|be"))
        return scale / 8;
    bool is_end = !isalnum((unsigned char)*at);
    bool is_rate = scale == 1e12 || (scale == 1e9 && (counted || number >= 100));
    return is_end && is_rate ? scale / 8 : 0;
}

/* Lower case; B stays where it is that of GB/s. */
static void plain_text(const char *from, size_t length, char *text)
{
    size_t used = 0;
    for (size_t i = 0; i < length && used + 1 < MOST_CLAUSE; i++) {
        char c = from[i];
        bool bytes = c == 'B' && i > 0 && strchr("GTM", from[i - 1]) != NULL;
        bool hyphen = c == '-' || c == ')';
        text[used++] = (char)(bytes ? 'B' : hyphen ? ' ' : tolower((unsigned char)c));
    }
    text[used] = '\0';
}

/* ---- numbers ---- */

/* "8 per node", "8 GPUs per node", "1 gpu/node", "of 8 GPUs", "8 gpu nodes". */
static size_t gpus_at(const char *text, const char *start, const char *end, double number)
{
    bool is_count = number >= 1 && number <= MOST_PER_NODE && number == floor(number);
    bool part = start >= text + 3 && strncmp(start - 3, "of ", 3) == 0;
    const char *at = skip_blanks(end);
    bool gpus = st_begins(at, "gpu");
    if (gpus)
        at = skip_blanks(at + (st_begins(at, "gpus") ? 4 : 3));
    bool per_node = st_begins(at, "per node") || st_begins(at, "/node") ||
                    st_begins(at, "/ node") || st_begins(at, "per host") ||
                    (gpus && st_begins(at, "node"));
    return is_count && (per_node || (part && gpus)) ? (size_t)number : 0;
}

/* Behind a unit, a number of ports may follow: "400Gb/s x8". Where reading goes on. */
static const char *take_ports_behind(clause *statement, const char *at)
{
    char *end = NULL;
    while (isalpha((unsigned char)*at) || *at == '/')
        at++;
    at = skip_blanks(at);
    const char *count = *at == 'x' ? skip_blanks(at + 1) : at;
    if (count == at)
        return at;
    if (!isdigit((unsigned char)*count))
        return count;
    statement->ports = strtod(count, &end);
    return end;
}

static void take_number(clause *statement, st_nccl_rates *rates, const char *start,
                        const char **next)
{
    char *end = NULL;
    double number = strtod(start, &end);
    const char *after = skip_blanks(end);
    /* "x" as in 4x200, behind the number or before it. */
    const char *times;
    if (st_begins(after, "\xC3\x97")) {
        times = after + 2;
    } else {
        bool plain = *after == 'x' && !isalpha((unsigned char)after[1]);
        bool named = *after == 'x' && (after[1] == ' ' || st_begins(after + 1, "edr") ||
                                       st_begins(after + 1, "hdr") || st_begins(after + 1, "ndr") ||
                                       st_begins(after + 1, "xdr"));
        times = plain || named ? after + 1 : NULL;
    }
    size_t gpus = gpus_at(statement->text, start, end, number);
    double unit = unit_at(after, number, statement->ports > 0);
    bool counts = number >= 1 && number <= MOST_PORTS;
    *next = end;
    if (gpus > 0) {
        rates->gpus_per_node = gpus;
    } else if (times != NULL && counts) {
        statement->ports = number;
        *next = times;
    } else if (unit > 0 && statement->rate == 0) {
        statement->rate = number * unit;
        *next = take_ports_behind(statement, after);
    } else if (unit > 0) {
        statement->second = number * unit;
        *next = take_ports_behind(statement, after); /* "NDR 400 Gb/s x8" */
    } else if (begins_any(after, "hca|nic|port|rail|adapter") && counts) {
        statement->ports = number;
    }
}

/* "NDR", "NDR200" of a port of fewer lanes, "HDR x8". Where reading goes on. */
static const char *take_generation(clause *statement, const char *at)
{
    for (size_t i = 0; i < sizeof generations / sizeof generations[0]; i++) {
        const char *behind = at + strlen(generations[i].word);
        if (!st_begins(at, generations[i].word) || statement->rate > 0)
            continue;
        char *end = NULL;
        double giga = 0;
        if (isdigit((unsigned char)*behind)) {
            giga = strtod(behind, &end);
            behind = end;
        }
        statement->rate = (giga > 0 ? giga : generations[i].giga) * 1e9 / 8;
        return take_ports_behind(statement, behind);
    }
    return at + 1;
}

static void read_clause(const char *from, size_t length, st_nccl_rates *rates, clause *statement)
{
    *statement = (clause){.rate = 0};
    plain_text(from, length, statement->text);
    const char *resumed = statement->text; /* behind the x of 8x400, where a number begins */
    for (const char *at = statement->text; *at != '\0';) {
        const char *next = at + 1;
        bool inside = at > resumed && (isalnum((unsigned char)at[-1]) || at[-1] == '.');
        if (isdigit((unsigned char)*at) && !inside) {
            take_number(statement, rates, at, &next);
            resumed = next;
        } else if (isalpha((unsigned char)*at) && !inside) {
            next = take_generation(statement, at);
        }
        at = next;
    }
    const char *text = statement->text;
    if (has(text, "per gpu|/gpu|per rank"))
        statement->of = OF_A_GPU;
    else if (statement->rate > 0 && has(text, "s per node|s/node|per host"))
        statement->of = OF_A_NODE;
    else if (has(text, "per nic|per port|per hca"))
        statement->of = OF_A_PORT;
    statement->both_ways = has(text, "bidir|both ways");
    statement->one_way = has(text, "per direction|one way|one direction|unidir");
    statement->is_of_links = has(text, "nvlink|nvswitch") && !has(text, "inter");
}

/* ---- statements ---- */

static size_t per_node(const heading *head)
{
    const st_nccl_table *table = head->table;
    size_t used = table->nodes > 0 ? table->ranks / table->nodes : 1;
    if (table->trays > 0)
        return used;
    return head->rates->gpus_per_node > 0 ? head->rates->gpus_per_node : used;
}

static st_status two_rates(const heading *head, const clause *next, double node)
{
    bool scopes = head->of != next->of && (head->of == OF_A_GPU || next->of == OF_A_GPU);
    return st_fail(head->errors, ST_ERR_VALUE,
                   head->table->fabric_at.line > 0 ? head->table->fabric_at
                                                   : st_nccl_place_of(head->table),
                   "%s" ST_FOUND "%g and %g GB/s of a node in '%.100s'" ST_EXPECTED
                   "one rate" ST_HINT "give --set cluster.nic_bandwidth=...",
                   scopes ? "the rates per GPU and per node disagree"
                          : "the heading gives two rates of the network",
                   head->node / 1e9, node / 1e9, head->table->fabric);
}

/* Whether two rates are one, as "50 GB/s (400 Gb/s)" or "400 Gb/s per GPU (3.2 Tb/s)". */
static bool is_same(double rate, double other)
{
    return fabs(rate - other) <= 0.01 * other;
}

/* A rate of the network as one of a node. */
static st_status take_network(heading *head, const clause *next)
{
    double ports = next->ports > 0 ? next->ports : head->ports;
    double rate = next->rate / (next->both_ways ? 2 : 1);
    if (head->table->trays > 0 && next->of != OF_A_GPU) /* what is said of a node is of a tray */
        rate *= (double)head->table->trays / (double)head->table->nodes;
    double node = next->of == OF_A_GPU    ? rate * fmax(next->ports, 1) * (double)per_node(head)
                  : next->of == OF_A_NODE ? rate
                                          : rate * fmax(ports, 1);
    if (head->node > 0 && !is_same(node, head->node))
        return two_rates(head, next, node);
    if (next->second > 0 && !is_same(next->second, next->rate) && !is_same(next->second, node)) {
        head->node = node;
        return two_rates(head, next, next->second);
    }
    head->of = head->node > 0 ? head->of : next->of;
    head->node = node;
    return ST_OK;
}

/* Bytes up to what parts statements: ';', ',', '+' or "and". */
static size_t part_length(const char *at)
{
    size_t length = strcspn(at, ";,+");
    const char *word = strstr(at, " and ");
    return word != NULL && (size_t)(word - at) < length ? (size_t)(word - at) : length;
}

/* Each part of the fabric's text; at first only counts, which rates may need. */
static st_status read_fabric(heading *head, bool counts)
{
    const char *at = head->table->fabric;
    st_status status = ST_OK;
    while (status == ST_OK && *at != '\0') {
        size_t length = part_length(at);
        clause next;
        read_clause(at, length, head->rates, &next);
        if (counts) {
            /* Ports of a node from a statement without a rate. */
            if (!(next.rate > 0)) {
                /* "one HCA per GPU", "1:1 GPU to NIC". */
                if (has(next.text, "hca|nic|port|rail|adapter") &&
                    has(next.text, "per gpu|/gpu|1:1"))
                    head->ports = (next.ports > 0                ? next.ports
                                   : has(next.text, "two |dual") ? 2
                                                                 : 1) *
                                  (double)per_node(head);
                else if (next.ports > 0)
                    head->ports = next.ports;
            }
        } else if (next.rate > 0 && next.is_of_links) {
            if (next.both_ways || next.one_way)
                head->rates->links = next.rate / (next.both_ways ? 2 : 1);
        } else if (next.rate > 0) {
            status = take_network(head, &next);
        }
        at += length + (at[length] != '\0' ? 1 : 0);
    }
    return status;
}

static size_t domain_of(const char *text)
{
    for (const char *at = strstr(text, "NVL"); at != NULL; at = strstr(at + 1, "NVL")) {
        char *end = NULL;
        long count = isdigit((unsigned char)at[3]) ? strtol(at + 3, &end, 10) : 0;
        if (count > 8 && count <= MOST_PER_NODE)
            return (size_t)count;
    }
    return 0;
}

/* What carries the network's messages; TCP sockets represent everything else. */
static const char *protocol_of(const char *fabric)
{
    static const struct {
        const char *words;
        const char *protocol;
    } known[] = {{"socket", "tcp"},
                 {"tcpxo|fastrak", "tcpxo"},
                 {"tcpx", "tcpx"},
                 {"efa", "efa"},
                 {"roce|gib plugin", "roce"},
                 {"slingshot", "slingshot"},
                 {"infiniband| ib |hdr|ndr|xdr", "infiniband"},
                 {" tcp ", "tcp"}};
    char plain[MOST_CLAUSE];
    char words[MOST_CLAUSE + 2];
    plain_text(fabric, strlen(fabric), plain);
    (void)snprintf(words, sizeof words, " %s ", plain);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (has(words, known[i].words))
            return known[i].protocol;
    return NULL;
}

st_status st_nccl_rates_read(const st_nccl_table *table, st_nccl_rates *rates, st_errors *errors)
{
    heading head = {.table = table, .rates = rates, .errors = errors};
    clause gpu;
    *rates =
        (st_nccl_rates){.domain = domain_of(table->fabric), .protocol = protocol_of(table->fabric)};
    if (rates->domain == 0)
        rates->domain = domain_of(table->gpu);
    read_clause(table->gpu, strlen(table->gpu), rates, &gpu);
    st_status status = read_fabric(&head, true);
    if (status == ST_OK)
        status = read_fabric(&head, false);
    rates->nics = head.node;
    return status;
}
