/* SPDX-License-Identifier: Apache-2.0 */
/* What headings of tables say of links and NICs, in the spellings that people use, and what in them
 * contradicts itself. */
#include "job_support.h"

#include "nccl-whitebox/fit/nccl_rates.h"

#include <math.h>

typedef struct heading {
    const char *fabric;
    const char *gpu;
    size_t ranks;
    size_t nodes;
    double nics_gbs; /* of a node; 0: none */
    size_t gpus;
    size_t domain;
} heading;

static st_status read_heading(fixture *own, const heading *said, st_nccl_rates *rates)
{
    const st_nccl_table table = {.file = "some.csv",
                                 .line = 17,
                                 .fabric = said->fabric,
                                 .gpu = said->gpu,
                                 .ranks = said->ranks,
                                 .nodes = said->nodes};
    return st_nccl_rates_read(&table, rates, own->errors);
}

TEST_WITH(spellings, set_up, tear_down)
{
    static const heading known[] = {
        {"8x400 Gb/s", "H100", 16, 2, 400, 0, 0},
        {"8x400G", "H100", 24, 3, 400, 0, 0},
        {"400Gb/s x8", "H100", 16, 2, 400, 0, 0},
        {"RoCE 8\xC3\x97"
         "400Gb/s",
         "H100", 16, 2, 400, 0, 0},
        {"IB 400Gb/s per GPU", "H100", 16, 2, 400, 0, 0},
        {"IB 50GB/s per GPU", "H100", 12, 2, 300, 0, 0},
        {"400Gb/s per GPU", "H100 (8 per node)", 2, 2, 400, 8, 0},
        {"4 HCAs NDR", "H100", 16, 2, 200, 0, 0},
        {"8x NDR InfiniBand", "H100", 16, 2, 400, 0, 0},
        {"ConnectX-7 400 Gbps per NIC, 8 NICs", "H100", 16, 2, 400, 0, 0},
        {"3.2 Tbps per node, 400Gb/s per GPU", "H100", 16, 2, 400, 0, 0},
        {"EFA 100Gb/s (libfabric, 2019; log also mentions proxy)", "V100", 16, 2, 12.5, 0, 0},
        {"NVLink4 intra; Slingshot-11 4x200Gb/s inter, aws-ofi-nccl 1.9.2",
         "GH200 (4 per node, CSCS Alps)", 8, 2, 100, 4, 0},
        {"NVLink3/NVSwitch intra; 8x200Gb/s HDR IB inter (Azure ND A100 v4)", "A100-SXM4-40GB", 16,
         2, 200, 0, 0},
        {"RoCE 400Gb/s (GKE RDMA; 1 GPU/node)", "H200 (1 GPU per node)", 2, 2, 50, 1, 0},
        {"NVSwitch intra (4 of 8 GPUs)", "H100 80GB HBM3", 4, 1, 0, 8, 0},
        {"25 GB/s bidirectional", "A100", 16, 2, 12.5, 0, 0},
        {"NVLink5 NVL72 rack; IB between racks", "GB200", 72, 18, 0, 0, 72},
        {"HPE Slingshot inter", "A100-SXM4-40GB (4 per node)", 32, 8, 0, 4, 0},
        {"InfiniBand NDR, one HCA per GPU", "H100", 16, 2, 400, 0, 0},
        {"200 Gbps HDR, 1:1 GPU to NIC", "H100", 12, 2, 150, 0, 0},
        {"two NICs per GPU, 200G each", "H100", 16, 2, 400, 0, 0},
        {"1.6T per node", "H100", 16, 2, 200, 0, 0},
        {"50 GB/s (400 Gb/s) per GPU", "H100", 16, 2, 400, 0, 0},
        {"400 Gb/s per GPU (3.2 Tb/s per node)", "H100", 16, 2, 400, 0, 0},
        {"8x400G and 8x400G", "H100", 16, 2, 400, 0, 0},
        {"NVLink4; ConnectX-7 NDR 400 Gb/s x8", "H100", 16, 2, 400, 0, 0},
        {"XDR 800G x4", "B300", 16, 2, 400, 0, 0},
        {"HDR200 x 8", "A100", 16, 2, 200, 0, 0},
        {"4x NDR200", "H100", 8, 2, 100, 0, 0},
        {"2x HDR (400 Gb/s)", "A100", 16, 2, 50, 0, 0},
        {"4 HCAs", "H100", 16, 2, 0, 0, 0},
        {"", "", 16, 2, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        st_nccl_rates rates;
        if (read_heading(*state, &known[i], &rates) != ST_OK)
            fail_msg("%s: %s", known[i].fabric, said(*state));
        if (fabs(rates.nics - 1e9 * known[i].nics_gbs) > 1 ||
            rates.gpus_per_node != known[i].gpus || rates.domain != known[i].domain)
            fail_msg("%s: %g B/s, %zu GPUs, a domain of %zu", known[i].fabric, rates.nics,
                     rates.gpus_per_node, rates.domain);
    }
}

/* The transport of the network; words that only look like one are none. */
TEST_WITH(protocols, set_up, tear_down)
{
    static const struct {
        const char *fabric;
        const char *protocol;
    } known[] = {
        {"NVLink3/NVSwitch intra; 8x200Gb/s HDR IB inter", "infiniband"},
        {"8 x 400 Gb/s InfiniBand", "infiniband"},
        {"RoCE v2 16x100Gb/s (SR-IOV VFs)", "roce"},
        {"8x400Gb/s (gIB plugin)", "roce"},
        {"NVSwitch intra; EFAv2 32x100Gb/s inter (aws-ofi-nccl)", "efa"},
        {"GPUDirect-TCPXO 8x200Gb/s", "tcpxo"},
        {"TCPX 4x200Gb/s", "tcpx"},
        {"NVLink4 intra; Slingshot-11, aws-ofi-nccl 1.13.0", "slingshot"},
        {"CXI hook disabled: TCP sockets", "tcp"},
        {"100 Gb/s Ethernet, TCP", "tcp"},
        {"PCIe (consumer, no P2P), distributed by a ribbon", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        const heading said = {.fabric = known[i].fabric, .gpu = "H100", .ranks = 16, .nodes = 2};
        st_nccl_rates rates;
        assert_int_equal(read_heading(*state, &said, &rates), ST_OK);
        if (known[i].protocol == NULL)
            assert_null(rates.protocol);
        else
            assert_string_equal(rates.protocol, known[i].protocol);
    }
}

/* What NVLink's sheets call its rate is both ways; only a heading that says which is taken. */
TEST_WITH(links_have_a_direction, set_up, tear_down)
{
    static const heading known[] = {
        {"NVLink 900 GB/s", "H100", 8, 1, 0, 0, 0},
        {"NVLink 900 GB/s bidirectional", "H100", 8, 1, 450, 0, 0},
        {"NVLink 450 GB/s per direction; 8x400G", "H100", 16, 2, 450, 0, 0},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        st_nccl_rates rates;
        assert_int_equal(read_heading(*state, &known[i], &rates), ST_OK);
        if (fabs(rates.links - 1e9 * known[i].nics_gbs) > 1)
            fail_msg("%s: %g B/s", known[i].fabric, rates.links);
    }
}

TEST_WITH(contradictions, set_up, tear_down)
{
    static const struct {
        heading said;
        const char *error;
    } cases[] = {
        {{"8x400G; 4x200G", "H100", 16, 2, 0, 0, 0},
         "some.csv:17: error: the heading gives two rates of the network: found 400 and 100 GB/s "
         "of a "
         "node in '8x400G; 4x200G'"},
        {{"4x200Gb/s and 8x400Gb/s inter", "H100", 16, 2, 0, 0, 0},
         "the heading gives two rates of the network: found 100 and 400 GB/s"},
        {{"200 Gb/s or 400 Gb/s", "H100", 16, 2, 0, 0, 0},
         "the heading gives two rates of the network: found 25 and 50 GB/s"},
        {{"400 Gb/s per GPU (1.6 Tb/s per node)", "H100", 16, 2, 0, 0, 0},
         "the rates per GPU and per node disagree: found 400 and 200 GB/s"},
        {{"1.6 Tbps per node, 400Gb/s per GPU", "H100", 16, 2, 0, 0, 0},
         "the rates per GPU and per node disagree: found 200 and 400 GB/s of a node"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        st_nccl_rates rates;
        assert_int_equal(read_heading(*state, &cases[i].said, &rates), ST_ERR_VALUE);
        if (strstr(said(*state), cases[i].error) == NULL)
            fail_msg("%s", said(*state));
    }
}

TESTS(nccl_rates);
