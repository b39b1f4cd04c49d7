/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Property: traffic, its sums in closed form and a count by hand are the same to the byte. By hand
 * goes rank by rank, layer by layer and micro-batch by micro-batch, with nothing of the sheet but
 * the sizes of messages and the parameters of a layer. Tokens go where a load or a drawn table of
 * shares sends them, by each dispatcher. STEPTIME_PLANS=N draws N plans.
 */
#include "property.h"

#include "../unit/megatron_support.h"

#include "estimate/traffic.h"

/* Dispatchers, as the jobs name them. */
enum { ALLTOALL, ALLGATHER, DEEPEP, HYBRIDEP, DISPATCHERS };

static const char *const dispatchers[] = {"alltoall", "allgather", "deepep", "hybridep"};

enum { PLANS = 500, MOST_RANKS = 1024, MOST_STAGES = 8, MOST_LAYERS = 64, MOST_EP = 8 };

typedef struct plan {
    const char *order;
    const char *sets;
    int tp, cp, dp, pp, chunks, ep, expert_tp, layers, dense, micros, gpus;
    bool moe, tied, folded;
    double load;
    double top_k;
    int dispatcher;
    int joined;                     /* ranks among which DeepEP and HybridEP forward */
    bool mapped;                    /* a table says who gets which tokens */
    double share[MOST_EP][MOST_EP]; /* by sender and receiver */
    int stage_of[MOST_LAYERS];
} plan;

typedef struct by_hand {
    double sent[ST_GROUPS][MOST_RANKS]; /* by sender */
    double to[MOST_RANKS];              /* of experts' tokens, by receiver */
    uint64_t found[ST_GROUPS][MOST_RANKS];
    uint64_t found_to[MOST_RANKS];
} by_hand;

static int one_of(property_random *random, const int *values, size_t count)
{
    return values[random_below(random, count)];
}

#define ONE_OF(random, values) one_of(random, values, COUNT(values))

/* Layers one after the other; what stages lack in layers the last ones before the last lack. */
static void fill_stages(plan *x)
{
    int each = (x->layers + x->pp - 1) / x->pp;
    int lacks = x->pp > 1 ? each * x->pp - x->layers : 0;
    int layer = 0;
    for (int stage = 0; stage < x->pp; stage++) {
        bool shorter = stage + 1 < x->pp ? stage > 0 && stage + 1 + lacks >= x->pp : false;
        int own = each - (shorter ? 1 : 0);
        for (int i = 0; i < own && layer < x->layers; i++)
            x->stage_of[layer++] = stage;
    }
    if (x->chunks > 1)
        for (int i = 0; i < x->layers; i++) {
            int place = i / (x->layers / x->pp / x->chunks);
            int turn = place / x->pp;
            x->stage_of[i] = x->folded && turn == 1 ? 2 * x->pp - 1 - place : place % x->pp;
        }
}

/* Shares in millionths, so that a table says them to the digit: of all senders, or of each. */
static void draw_map(property_random *random, plan *x, bool by_sender)
{
    for (int from = 0; from < x->ep; from++) {
        int left = 1000000;
        for (int to = 0; to < x->ep; to++) {
            int part = to + 1 == x->ep ? left : random_between(random, 0, left);
            x->share[from][to] = part / 1e6;
            left -= part;
        }
        if (from > 0 && !by_sender)
            memcpy(x->share[from], x->share[0], sizeof x->share[0]);
    }
}

/* The first rank of a group gets more than its share. */
static void share_by_load(plan *x)
{
    for (int from = 0; from < x->ep; from++)
        for (int to = 0; to < x->ep; to++)
            x->share[from][to] = to == 0 ? x->load / x->ep : (1 - x->load / x->ep) / (x->ep - 1);
}

/* Nodes may have fewer GPUs than an expert group. */
static void draw_dispatcher(property_random *random, plan *x)
{
    static const int nodes[] = {2, 4, 8};
    x->dispatcher = (int)random_below(random, DISPATCHERS);
    x->gpus = x->ep > 1 && x->tp == 1 ? ONE_OF(random, nodes) : 8;
}

/* Kernels of DeepEP and HybridEP join the ranks of an expert group that share a node. */
static int joined_ranks(const plan *x, const st_placement *placement)
{
    int joined = 0;
    if (x->dispatcher == ALLTOALL || x->dispatcher == ALLGATHER)
        return 1;
    for (size_t i = 0; i < (size_t)x->ep; i++)
        joined += (i + 1) * placement->stride[ST_GROUP_EP] <= placement->gpus_per_node;
    return joined > 0 ? joined : 1;
}

static void draw_experts(property_random *random, plan *x)
{
    static const int sizes[] = {1, 2, 4, 8};
    int ranks = x->tp * x->cp * x->dp;
    x->expert_tp = random_below(random, 2) == 0 ? x->tp : 1;
    do
        x->ep = ONE_OF(random, sizes);
    while (ranks % (x->ep * x->expert_tp) != 0);
    x->dense = x->chunks == 1 && x->pp > 1 ? random_between(random, 0, 2) : 0;
    x->load = x->ep > 1 && random_below(random, 2) == 0 ? 1.385 : 1;
    x->top_k = random_below(random, 2) == 0 ? 2 : 1.385;
    draw_dispatcher(random, x);
    x->mapped = x->ep > 1 && x->dispatcher != ALLGATHER && random_below(random, 2) == 0;
    share_by_load(x);
    if (x->mapped)
        draw_map(random, x, random_below(random, 2) == 0);
    bool across = strcmp(x->order, "tp-pp-dp-cp") == 0 && x->expert_tp != x->tp;
    if (across)
        x->order = "tp-cp-ep-dp-pp";
}

static void draw_shape(property_random *random, plan *x)
{
    static const char *const orders[] = {"tp-cp-ep-dp-pp", "tp-pp-dp-cp", "dp-tp-cp-pp"};
    static const int sizes[] = {1, 2, 4};
    static const int pipelines[] = {1, 2, 3, 4, 6, 8};
    *x = (plan){.order = orders[random_below(random, 3)],
                .tp = ONE_OF(random, sizes),
                .cp = random_between(random, 1, 2),
                .dp = ONE_OF(random, sizes),
                .pp = ONE_OF(random, pipelines),
                .chunks = 1,
                .ep = 1,
                .gpus = 8,
                .joined = 1,
                .load = 1,
                .moe = random_below(random, 2) == 0,
                .tied = random_below(random, 2) == 0};
    int kind = x->pp > 1 ? random_between(random, 0, 3) : 0;
    x->folded = kind == 3;
    x->chunks = kind == 2 ? random_between(random, 2, 3) : kind == 3 ? 2 : 1;
    x->layers = x->pp * x->chunks * random_between(random, 1, 2);
    x->micros = x->pp * random_between(random, 2, 4);
    if (x->chunks == 1 && x->pp > 2 && x->layers > x->pp && random_below(random, 2) == 0)
        x->layers -= random_between(random, 1, x->pp - 2);
    x->expert_tp = x->tp;
    if (x->moe)
        draw_experts(random, x);
    if (x->moe && x->layers <= x->dense)
        x->dense = 0;
    fill_stages(x);
}

static const char *name_of_schedule(const plan *x)
{
    if (x->folded)
        return "zero_bubble_v";
    return x->chunks > 1 ? "interleaved" : "1f1b";
}

static void draw(property_random *random, fixture *own, plan *x)
{
    draw_shape(random, x);
    const char *experts =
        x->moe ? st_arena_printf(own->arena,
                                 "parallel.ep=%d parallel.expert_tp=%d model.dense_layers=%d "
                                 "model.imbalance=%.17g model.top_k=%.17g "
                                 "parallel.dispatcher=%s cluster.gpus_per_node=%d",
                                 x->ep, x->expert_tp, x->dense, x->load, x->top_k,
                                 dispatchers[x->dispatcher], x->gpus)
               : "";
    x->sets = st_arena_printf(
        own->arena,
        "parallel.order=%s parallel.tp=%d parallel.cp=%d parallel.dp=%d parallel.pp=%d "
        "parallel.virtual_stages=%d parallel.schedule=%s model.layers=%d batch.micro=1 "
        "batch.global=%d model.tied=%s parallel.zero=%d cluster.nodes=1024 "
        "cluster.gpu.memory=9000~TB %s",
        x->order, x->tp, x->cp, x->dp, x->pp, x->folded ? 1 : x->chunks, name_of_schedule(x),
        x->layers, x->dp * x->micros, x->tied ? "true" : "false", (int)random_below(random, 3),
        experts);
}

/* --- by hand ------------------------------------------------------------------------------------
 */

static int size_of(const plan *x, const char *word)
{
    const struct {
        const char *name;
        int size;
    } axes[] = {{"tp", x->tp}, {"cp", x->cp}, {"dp", x->dp}, {"pp", x->pp}};
    for (size_t i = 0; i < COUNT(axes); i++)
        if (memcmp(word, axes[i].name, 2) == 0)
            return axes[i].size;
    return 1;
}

static int stage_of(const plan *x, size_t rank)
{
    for (const char *word = x->order;; word += 3) {
        if (memcmp(word, "pp", 2) == 0)
            return (int)(rank % (size_t)x->pp);
        rank /= (size_t)size_of(x, word);
    }
}

static bool is_routed(const plan *x, int layer)
{
    return x->moe && layer >= x->dense;
}

/* Parameters of the ends of the model. */
static double ends_of(const plan *x, const st_estimate *e, bool first, bool last)
{
    double sum = first ? cell(e, "P_vocabulary") + cell(e, "P_position") : 0;
    if (!last)
        return sum;
    bool shared = x->tied && first;
    return sum + cell(e, "P_norm") + (shared ? 0 : cell(e, "P_vocabulary"));
}

/* What the layers of a stage send between the ranks that share them. */
typedef struct shared {
    double layers;
    double messages; /* of tensor parallelism, in a micro-batch */
} shared;

static void add_activations(const plan *x, const st_estimate *e, const shared *own, by_hand *count,
                            size_t rank)
{
    double t = x->tp;
    count->sent[ST_GROUP_TP][rank] =
        x->tp > 1 ? x->micros * own->messages * cell(e, "tp_message") * 2 * (t - 1) / t : 0;
    count->sent[ST_GROUP_CP][rank] =
        x->micros * own->layers * (cell(e, "passes") + 2) * (x->cp - 1) * cell(e, "cp_message");
}

/* Rings: what each layer and each end of the model on the rank's stage adds. */
static void add_rings(const plan *x, const st_estimate *e, by_hand *count, size_t rank)
{
    int stage = stage_of(x, rank);
    bool first = stage == 0;
    bool last = x->folded ? first : stage + 1 == x->pp;
    double reducers = (double)x->dp * x->cp;
    double holders = x->tp * reducers / (x->ep * x->expert_tp);
    shared own = {.messages = (double)first + (double)last};
    double parameters = ends_of(x, e, first, last);
    double experts = 0;
    for (int i = 0; i < x->layers; i++) {
        if (x->stage_of[i] != stage)
            continue;
        parameters += cell(e, is_routed(x, i) ? "P_layer[moe]" : "P_layer[dense]");
        experts += is_routed(x, i) ? cell(e, "P_experts") : 0;
        /* With sequence parallelism each block gathers once more, half of what a pair sends. */
        own.messages += (is_routed(x, i) && x->expert_tp != x->tp ? 1 : 2) / 2.0 *
                        (cell(e, "n_tp") + (cell(e, "t_gather_tp") > 0 ? 1 : 0));
        own.layers++;
    }
    add_activations(x, e, &own, count, rank);
    double bytes = cell(e, "dp_bytes_sent");
    count->sent[ST_GROUP_DP][rank] = bytes * parameters * (reducers - 1) / reducers;
    count->sent[ST_GROUP_EXPERT_DP][rank] = bytes * experts * (holders - 1) / holders;
    count->sent[ST_GROUP_EMBEDDING][rank] = x->pp > 1 && x->tied && !x->folded && (first || last)
                                                ? cell(e, "g") * cell(e, "P_vocabulary")
                                                : 0;
}

/* Every micro-batch from chunk to chunk, there and back. */
static void add_transfers(const plan *x, const st_estimate *e, by_hand *count, size_t rank)
{
    int stage = stage_of(x, rank);
    int places = x->pp * x->chunks;
    for (int micro = 0; micro < x->micros; micro++)
        for (int place = 0; place + 1 < places; place++) {
            int from = x->folded && place >= x->pp ? 2 * x->pp - 1 - place : place % x->pp;
            int next = place + 1;
            int to = x->folded && next >= x->pp ? 2 * x->pp - 1 - next : next % x->pp;
            if (from != to && (stage == from || stage == to))
                count->sent[ST_GROUP_PP][rank] += cell(e, "pp_message");
        }
}

/* Bytes of one copy of all tokens of a rank of the stage, one way. */
static double token_bytes(const plan *x, const st_estimate *e, int stage)
{
    double bytes = 0;
    for (int i = 0; i < x->layers; i++)
        if (is_routed(x, i) && x->stage_of[i] == stage && x->ep > 1)
            bytes += x->micros * cell(e, "ep_passes") * cell(e, "ep_message") / cell(e, "load") /
                     x->top_k;
    return bytes;
}

/* How many of so many places hold one of a token's 8 experts, which differ; top_k may be a mean. */
static double places_hit(double places, double top_k)
{
    double left = 8 - 8 / places; /* experts elsewhere */
    double none = left + 1 > top_k
                      ? tgamma(left + 1) / tgamma(left - top_k + 1) * tgamma(9 - top_k) / tgamma(9)
                      : 0;
    return places * (1 - none);
}

/* Copies of a token there, and as many back. */
static void move(double (*moved)[MOST_EP], int from, int to, double copies)
{
    if (from == to)
        return;
    moved[from][to] += copies;
    moved[to][from] += copies;
}

/* The way of every copy of a token of `from` to the rank of an expert, and from there back. */
static void route(const plan *x, double (*moved)[MOST_EP], int from, int to)
{
    double share = x->share[from][to];
    if (x->dispatcher == ALLTOALL) {
        move(moved, from, to, x->top_k * share);
        return;
    }
    int at = to - to % x->joined + from % x->joined; /* who hands on */
    if (to / x->joined != from / x->joined)
        move(moved, from, at, places_hit((double)x->ep / x->joined, x->top_k) * share);
    move(moved, at, to, places_hit(x->ep, x->top_k) * share);
}

/* Tokens there and back, what stays left out. */
static void add_tokens(const plan *x, const st_estimate *e, by_hand *count, size_t rank,
                       const st_placement *placement)
{
    size_t own = rank / placement->stride[ST_GROUP_EP] % (size_t)x->ep;
    double moved[MOST_EP][MOST_EP] = {{0}}; /* copies of a token */
    double bytes = token_bytes(x, e, stage_of(x, rank));
    if (x->ep == 1)
        return;
    for (int from = 0; from < x->ep; from++)
        for (int to = 0; to < x->ep; to++)
            if (x->dispatcher != ALLGATHER)
                route(x, moved, from, to);
            else if (to != from) /* past every other rank, once as a token, once as a sum */
                moved[from][(from + 1) % x->ep] += 2;
    for (int i = 0; i < x->ep; i++) {
        count->sent[ST_GROUP_EP][rank] += bytes * moved[own][i];
        count->to[rank] += bytes * moved[i][own];
    }
}

static bool add_flow(void *context, const st_flow *flow)
{
    by_hand *count = context;
    count->found[flow->group][flow->source] += flow->bytes;
    if (flow->group == ST_GROUP_EP)
        count->found_to[flow->target] += flow->bytes;
    return true;
}

static double slack_of(const plan *x, double bytes)
{
    return 2 * x->ep + 1e-12 * bytes;
}

static void check_rank(const plan *x, const by_hand *count, size_t rank)
{
    for (st_group group = ST_GROUP_TP; group < ST_GROUPS; group++) {
        double wanted = count->sent[group][rank];
        double found = (double)count->found[group][rank];
        /* Shares of an exchange are rounded one by one, so that they add up. */
        double slack = group == ST_GROUP_EP ? slack_of(x, wanted) : 0.5 + 1e-12 * wanted;
        if (fabs(found - wanted) > slack)
            fail_msg("%s: rank %zu sends %.1f B of %s, by hand %.1f", x->sets, rank, found,
                     st_group_name(group), wanted);
    }
    assert_true(fabs((double)count->found_to[rank] - count->to[rank]) <=
                slack_of(x, count->to[rank]));
}

static void send_mapped(fixture *own, const plan *x, st_traffic_report *report)
{
    st_buffer text = {0};
    st_buffer_text(&text, "source,target,share\n");
    for (int from = 0; from < x->ep; from++)
        for (int to = 0; to < x->ep; to++)
            st_buffer_printf(&text, "%d,%d,%.6f\n", from, to, x->share[from][to]);
    write_text(own, "map.csv", text.data);
    st_buffer_free(&text);
    if (st_traffic_report_send_tokens(report, below(own, "map.csv"), own->arena, own->errors) !=
        ST_OK)
        fail_msg("%s: %s", x->sets, said(own));
}

/* What the estimate says that a rank of the first stage sends is what its ranks send in the mean.
 */
static void check_estimate(const plan *x, const st_estimate *e, const st_traffic_report *report)
{
    double sent =
        (double)st_traffic_sent_bytes(&report->placement, &report->traffic, ST_GROUP_EP, 0);
    double wanted = cell(e, "ep_sent");
    if (fabs(sent - wanted) > slack_of(x, wanted))
        fail_msg("%s: ranks send %.1f B to experts, the estimate %.1f", x->sets, sent, wanted);
}

static void check_plan(fixture *own, plan *x)
{
    static by_hand count;
    const char *job = x->moe ? "mixtral-8x7b-64xh100" : "gpt3-175b-64xa100";
    st_estimate cells = estimate_of(own, job, x->sets);
    st_estimate estimate = estimate_of(own, job, x->sets);
    st_traffic_report report;
    memset(&count, 0, sizeof count);
    if (st_traffic_report_make(&estimate, ST_GROUPS, own->arena, &report, own->errors) != ST_OK)
        fail_msg("%s: %s", x->sets, said(own));
    x->joined = joined_ranks(x, &report.placement);
    check_estimate(x, &cells, &report);
    if (x->mapped)
        send_mapped(own, x, &report);
    st_traffic_visit(&report.placement, &report.traffic, add_flow, &count);
    uint64_t sums[ST_GROUPS] = {0};
    for (size_t rank = 0; rank < report.placement.ranks; rank++) {
        add_rings(x, &cells, &count, rank);
        add_transfers(x, &cells, &count, rank);
        add_tokens(x, &cells, &count, rank, &report.placement);
        check_rank(x, &count, rank);
        for (st_group group = ST_GROUP_TP; group < ST_GROUPS; group++)
            sums[group] += count.found[group][rank];
    }
    for (st_group group = ST_GROUP_TP; group < ST_GROUPS; group++)
        if (sums[group] != st_traffic_total_bytes(&report.placement, &report.traffic, group))
            fail_msg("%s: flows of %s are not their sum in closed form", x->sets,
                     st_group_name(group));
    st_errors_clear(own->errors);
}

TEST(traffic_is_what_a_count_by_hand_says)
{
    const char *given = getenv("STEPTIME_PLANS");
    long plans = given != NULL ? strtol(given, NULL, 10) : PLANS;
    property_random *random = *state;
    for (long i = 0; i < plans; i++) {
        void *files = NULL;
        plan x;
        assert_int_equal(set_up(&files), 0);
        draw(random, files, &x);
        check_plan(files, &x);
        assert_int_equal(tear_down(&files), 0);
    }
}

/* --- models of today ---------------------------------------------------------------------------
 */

enum { MODERN_PLANS = 40 };

/* Latent attention and prediction, delta nets, Mamba-2 with latent experts, windows. */
static const char *const modern[] = {"deepseek-v3",
                                     "deepseek-v4-flash",
                                     "qwen3-next-80b-a3b",
                                     "nemotron-3-nano-30b-a3b",
                                     "nemotron-3-super-120b-a12b",
                                     "gpt-oss-120b",
                                     "kimi-k2"};

static const char *draw_modern(property_random *random, fixture *own, const char *model)
{
    static const int tensors[] = {1, 2};
    static const int pipelines[] = {2, 4, 8};
    static const int groups[] = {1, 4, 16};
    int tp = ONE_OF(random, tensors);
    return st_arena_printf(
        own->arena,
        "model=%s parallel.tp=%d parallel.sequence_parallel=%s parallel.cp=%d parallel.dp=16 "
        "parallel.pp=%d parallel.ep=%d parallel.expert_tp=%d parallel.zero=%d "
        "parallel.dispatcher=%s "
        "batch.micro=1 batch.global=256 recompute=%s cluster.nodes=1024 "
        "cluster.gpu.memory=9000~TB model.tied=%s parallel.layout=auto",
        model, tp, tp > 1 ? "true" : "false", random_between(random, 1, 2),
        ONE_OF(random, pipelines), ONE_OF(random, groups), ONE_OF(random, tensors) == tp ? tp : 1,
        (int)random_below(random, 2), dispatchers[random_below(random, DISPATCHERS)],
        random_below(random, 2) == 0 ? "full" : "none",
        random_below(random, 2) == 0 ? "true" : "false");
}

/* All bytes of a step by group, and the boundaries between virtual stages that they cross. */
static size_t total_of(fixture *own, const char *sets, int chunks, double totals[ST_GROUPS])
{
    const char *all =
        st_arena_printf(own->arena, "%s parallel.virtual_stages=%d parallel.schedule=%s", sets,
                        chunks, chunks > 1 ? "interleaved" : "1f1b");
    st_estimate estimate = estimate_of(own, "mixtral-8x7b-64xh100", all);
    st_traffic_report report;
    if (st_traffic_report_make(&estimate, ST_GROUPS, own->arena, &report, own->errors) != ST_OK)
        fail_msg("%s: %s", all, said(own));
    for (st_group group = ST_GROUP_TP; group < ST_GROUPS; group++)
        totals[group] = (double)st_traffic_total_bytes(&report.placement, &report.traffic, group);
    totals[ST_GROUP_PP] /= (double)report.placement.size[ST_GROUP_PP] * chunks - 1;
    return report.placement.ranks;
}

/* However a layout cuts a model, its layers, ends and depths of prediction send the same. */
TEST_OF(traffic_of_modern_models_is_that_of_any_layout, property_random *random, NULL, NULL)
{
    for (int i = 0; i < MODERN_PLANS; i++) {
        void *files = NULL;
        double whole[ST_GROUPS] = {0};
        double cut[ST_GROUPS] = {0};
        assert_int_equal(set_up(&files), 0);
        const char *sets = draw_modern(random, files, modern[random_below(random, COUNT(modern))]);
        size_t ranks = total_of(files, sets, 1, whole);
        (void)total_of(files, sets, random_between(random, 2, 3), cut);
        for (st_group group = ST_GROUP_TP; group < ST_GROUPS; group++)
            if (fabs(whole[group] - cut[group]) > 32.0 * (double)ranks + 1e-12 * whole[group])
                fail_msg("%s: %s sends %.1f B in one cut, %.1f in another", sets,
                         st_group_name(group), whole[group], cut[group]);
        st_errors_clear(((fixture *)files)->errors);
        assert_int_equal(tear_down(&files), 0);
    }
}

TESTS_WITH(traffics, property_setup, NULL);
