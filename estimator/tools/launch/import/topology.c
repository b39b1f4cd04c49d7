/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NCCL's topology file (NVIDIA/nccl, src/graph/xml.cc): <system> holds <cpu>, below which PCI
 * devices nest; a GPU is <gpu> in <pci>, with <nvlink> and <c2c>, a network port is <net> in <nic>.
 * Files that clouds ship name the PCI devices only, GPUs and NICs by their class. Without <nvlink>
 * nothing is said of the links between GPUs, and those of the GPU's own file count; RCCL's <xgmi>
 * has no rate either.
 *
 * The reader is expat. A document type, the only place where entities are declared, is refused, so
 * that nothing expands.
 */
#include "launch/import/import.h"

#include "base/chars.h"

#ifdef STEPTIME_HAVE_EXPAT

#include "base/number.h"
#include "base/utf8.h"
#include "steptime/quantity.h"

#include <expat.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ST_TOPOLOGY_MAX_BYTES = 8 * 1024 * 1024,
    ST_TOPOLOGY_MAX_ELEMENTS = 100000,
    ST_TOPOLOGY_MAX_DEPTH = 32,
    ST_TOPOLOGY_MAX_GPUS = 4096,
    ST_TOPOLOGY_MAX_NETS = 4096,
    ST_TOPOLOGY_MAX_LINKS = 256 /* of a GPU */
};

typedef struct st_topology_gpu {
    unsigned sm; /* compute capability times ten, 0: not said */
    unsigned nvlinks;
    double c2c_mbit_per_s; /* to the processor that it is soldered to */
    double pcie_mbit_per_s;
    bool described; /* by an element of its own, not only by the class of a PCI device */
} st_topology_gpu;

typedef struct st_topology_net {
    const char *name;
    double mbit_per_s; /* 0: not said */
    bool described;
} st_topology_net;

typedef struct st_topology {
    st_topology_gpu *gpus;
    size_t gpu_count;
    st_topology_net *nets;
    size_t net_count;
    size_t hosts; /* with names of their own; at least 1 */
} st_topology;

typedef enum element { SYSTEM, CPU, PCI, GPU, NVLINK, C2C, NIC, NET, UNKNOWN } element;

static const char *const element_names[UNKNOWN] = {"system", "cpu", "pci", "gpu",
                                                   "nvlink", "c2c", "nic", "net"};

typedef struct open_element {
    element kind;
    double pcie_mbit_per_s;
} open_element;

typedef struct xml_reader {
    const st_topology_request *request;
    st_topology *topology;
    st_arena *arena;
    st_errors *errors;
    XML_Parser parser;
    st_status status;
    open_element stack[ST_TOPOLOGY_MAX_DEPTH];
    size_t depth;
    size_t elements;
    const char **hosts;
} xml_reader;

/* ---- errors ---- */

static ST_PRINTF(3, 4) void fail(xml_reader *reader, st_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    XML_Size line = XML_GetCurrentLineNumber(reader->parser);
    XML_Size column = XML_GetCurrentColumnNumber(reader->parser);
    const st_place place = {.file = reader->request->file,
                            .line = line < INT32_MAX ? (int)line : 0,
                            .column = column < INT32_MAX ? (int)column + 1 : 0};
    if (reader->status == ST_OK) {
        reader->status = st_vfail(reader->errors, status, place, format, arguments);
        (void)XML_StopParser(reader->parser, XML_FALSE);
    }
    va_end(arguments);
}

static const char *copy_text(xml_reader *reader, const char *text)
{
    const char *copy = st_arena_copy(reader->arena, text, strlen(text));
    if (copy == NULL)
        fail(reader, ST_ERR_MEMORY, "out of memory");
    return copy;
}

/* ---- attributes ---- */

/* The number at the start of an attribute, 0 where it is absent; an error above `most`. */
static double number_of(xml_reader *reader, const char *const *attributes, const char *name,
                        double most)
{
    const char *text = st_attribute(attributes, name);
    size_t length = 0;
    double value = 0;
    if (text == NULL || text[0] == '\0')
        return 0;
    while ((text[length] >= '0' && text[length] <= '9') || text[length] == '.')
        length++;
    bool is_number = length > 0 && length < 40 && (text[length] == '\0' || text[length] == ' ') &&
                     st_number_parse(text, length, (st_place){0}, &value, NULL) == ST_OK;
    if (is_number && value <= most)
        return value;
    char limit[ST_QUANTITY_TEXT];
    fail(reader, ST_ERR_VALUE,
         "invalid value of '%s'" ST_FOUND "'%s'" ST_EXPECTED "a number up to %s", name, text,
         st_number_format(most, limit, sizeof limit));
    return 0;
}

/* ---- elements ---- */

static open_element *parent_of(xml_reader *reader, element kind)
{
    for (size_t i = reader->depth; i > 0; i--)
        if (reader->stack[i - 1].kind == kind)
            return &reader->stack[i - 1];
    return NULL;
}

static void add_gpu(xml_reader *reader, const st_topology_gpu *gpu)
{
    st_topology *topology = reader->topology;
    if (topology->gpu_count >= ST_TOPOLOGY_MAX_GPUS) {
        fail(reader, ST_ERR_LIMIT, "more than 4096 GPUs");
        return;
    }
    if (!ST_APPEND(reader->arena, topology->gpus, topology->gpu_count, *gpu))
        fail(reader, ST_ERR_MEMORY, "out of memory");
}

static void add_net(xml_reader *reader, const st_topology_net *net)
{
    st_topology *topology = reader->topology;
    if (topology->net_count >= ST_TOPOLOGY_MAX_NETS) {
        fail(reader, ST_ERR_LIMIT, "more than 4096 network ports");
        return;
    }
    if (!ST_APPEND(reader->arena, topology->nets, topology->net_count, *net))
        fail(reader, ST_ERR_MEMORY, "out of memory");
}

/* A GPU or a network adapter known only by its class. */
static void open_pci(xml_reader *reader, open_element *pci, const char *const *attributes)
{
    const char *class = st_attribute(attributes, "class");
    /* What a PCI link moves, as NCCL counts it: per lane 1.5 Gbit/s at 2.5 GT/s, twice as much
     * with every generation (src/graph/topo.cc, kvDictPciGen). */
    double rate = 0;
    static const double giga_transfers[] = {2.5, 5, 8, 16, 32, 64};
    double speed = number_of(reader, attributes, "link_speed", 1000);
    double width = number_of(reader, attributes, "link_width", 64);
    double lane_mbit_per_s = 1500;
    for (size_t i = 0; i < ST_COUNT(giga_transfers); i++) {
        if (speed == giga_transfers[i]) {
            rate = width * lane_mbit_per_s;
            break;
        }
        lane_mbit_per_s *= 2;
    }
    pci->pcie_mbit_per_s = rate;
    if (class == NULL || strlen(class) < 6)
        return;
    static const char *const gpus[] = {"0x0302", "0x0300", "0x0380", "0x1200"}; /* 2 are AMD's */
    for (size_t i = 0; i < ST_COUNT(gpus); i++)
        if (strncmp(class, gpus[i], 6) == 0)
            add_gpu(reader, &(st_topology_gpu){.pcie_mbit_per_s = rate});
    if (strncmp(class, "0x0200", 6) == 0 || strncmp(class, "0x0207", 6) == 0)
        add_net(reader, &(st_topology_net){.name = ""});
}

static void open_link(xml_reader *reader, element kind, const char *const *attributes)
{
    st_topology *topology = reader->topology;
    if (parent_of(reader, GPU) == NULL || topology->gpu_count == 0) {
        fail(reader, ST_ERR_SYNTAX, "<%s> outside of <gpu>", element_names[kind]);
        return;
    }
    st_topology_gpu *gpu = &topology->gpus[topology->gpu_count - 1];
    double count = st_attribute(attributes, "count") != NULL
                       ? number_of(reader, attributes, "count", ST_TOPOLOGY_MAX_LINKS)
                       : 1;
    if (kind == C2C)
        gpu->c2c_mbit_per_s += count * number_of(reader, attributes, "bw", 1e8);
    else
        gpu->nvlinks += (unsigned)count;
    if (gpu->nvlinks > ST_TOPOLOGY_MAX_LINKS)
        fail(reader, ST_ERR_LIMIT, "more than 256 NVLinks of a GPU");
}

static void open_net(xml_reader *reader, const char *const *attributes)
{
    const char *name = st_attribute(attributes, "name");
    double speed = number_of(reader, attributes, "speed", 1e8);
    const char *copy = copy_text(reader, st_or_none(name));
    if (copy != NULL)
        add_net(reader, &(st_topology_net){.name = copy, .mbit_per_s = speed, .described = true});
}

static void open_cpu(xml_reader *reader, const char *const *attributes)
{
    const char *host = st_attribute(attributes, "host_hash");
    st_topology *topology = reader->topology;
    if (host == NULL)
        return;
    for (size_t i = 0; i < topology->hosts; i++)
        if (strcmp(reader->hosts[i], host) == 0)
            return;
    if (topology->hosts >= ST_TOPOLOGY_MAX_GPUS) {
        fail(reader, ST_ERR_LIMIT, "more than 4096 hosts");
        return;
    }
    const char *copy = copy_text(reader, host);
    if (copy != NULL && !ST_APPEND(reader->arena, reader->hosts, topology->hosts, copy))
        fail(reader, ST_ERR_MEMORY, "out of memory");
}

static element kind_of(const char *name)
{
    size_t kind = 0;
    while (kind < UNKNOWN && strcmp(element_names[kind], name) != 0)
        kind++;
    return (element)kind;
}

static void XMLCALL on_start(void *self, const XML_Char *name, const XML_Char **attributes)
{
    xml_reader *reader = self;
    const char *const *given = (const char *const *)attributes;
    element kind = kind_of(name);
    if (reader->status != ST_OK)
        return;
    if (reader->depth >= ST_TOPOLOGY_MAX_DEPTH || ++reader->elements > ST_TOPOLOGY_MAX_ELEMENTS) {
        fail(reader, ST_ERR_LIMIT, "%s",
             reader->depth >= ST_TOPOLOGY_MAX_DEPTH ? "elements are nested more than 32 deep"
                                                    : "more than 100000 elements");
        return;
    }
    open_element *opened = &reader->stack[reader->depth];
    *opened = (open_element){.kind = kind};
    if (reader->depth == 0) {
        const char *version = st_attribute(given, "version");
        if (kind != SYSTEM)
            fail(reader, ST_ERR_SYNTAX,
                 "not a topology of NCCL" ST_FOUND "<%s>" ST_EXPECTED "<system>", name);
        else if (version != NULL && strcmp(version, "1") != 0)
            fail(reader, ST_ERR_VALUE,
                 "unsupported topology version" ST_FOUND "'%s'" ST_EXPECTED "version 1", version);
    } else if (kind == CPU) {
        open_cpu(reader, given);
    } else if (kind == PCI) {
        open_pci(reader, opened, given);
    } else if (kind == GPU) {
        const open_element *pci = parent_of(reader, PCI);
        add_gpu(reader,
                &(st_topology_gpu){.sm = (unsigned)number_of(reader, given, "sm", 999),
                                   .pcie_mbit_per_s = pci != NULL ? pci->pcie_mbit_per_s : 0,
                                   .described = true});
    } else if (kind == NVLINK || kind == C2C) {
        open_link(reader, kind, given);
    } else if (kind == NET) {
        open_net(reader, given);
    }
    reader->depth++;
}

static void XMLCALL on_end(void *self, const XML_Char *name)
{
    xml_reader *reader = self;
    (void)name;
    reader->depth -= reader->depth > 0 ? 1 : 0;
}

static void XMLCALL on_doctype(void *self, const XML_Char *name, const XML_Char *system,
                               const XML_Char *public, int has_internal)
{
    xml_reader *reader = self;
    (void)name;
    (void)system;
    (void)public;
    (void)has_internal;
    fail(reader, ST_ERR_SYNTAX, "unexpected document type");
}

/* ---- the cluster ---- */

/* Rates of one NVLink per direction, from the data sheets of the GPUs that have them. */
static const struct {
    unsigned from_sm;
    double giga_per_s;
    const char *sheets;
} link_rates[] = {
    {100, 50, "NVLink 5"}, {90, 25, "NVLink 4"}, {80, 25, "NVLink 3"},
    {70, 25, "NVLink 2"},  {60, 20, "NVLink 1"},
};

/* A text of the file or of the command line on a line of a comment or of a quoted value. */
static void write_plain(const char *text, st_buffer *buffer)
{
    size_t length = strlen(text);
    for (size_t i = 0; i < length;) {
        uint32_t code = 0;
        size_t bytes = st_utf8_decode(text + i, length - i, &code);
        if (bytes == 0 || st_utf8_is_control(code) || code == '"' || code == '\\')
            st_buffer_text(buffer, "?");
        else
            st_buffer_append(buffer, text + i, bytes);
        i += bytes == 0 ? 1 : bytes;
    }
}

static const char *significant(double value, char *text)
{
    return st_number_significant(value, 6, text, ST_QUANTITY_TEXT);
}

/* The bandwidth of one GPU to the others of its node. */
static void write_links(const st_topology_gpu *gpu, const st_topology_request *request,
                        st_buffer *buffer)
{
    char rate[ST_QUANTITY_TEXT];
    char each[ST_QUANTITY_TEXT];
    for (size_t i = 0; gpu->nvlinks > 0 && i < ST_COUNT(link_rates); i++) {
        if (gpu->sm < link_rates[i].from_sm)
            continue;
        st_buffer_printf(buffer,
                         "  link_bandwidth: {value: %s GB/s, source: \"%u %s of %s GB/s\"}\n",
                         significant(gpu->nvlinks * link_rates[i].giga_per_s, rate), gpu->nvlinks,
                         link_rates[i].sheets, significant(link_rates[i].giga_per_s, each));
        return;
    }
    if (gpu->nvlinks > 0)
        st_buffer_printf(
            buffer,
            "  # %u NVLinks of a GPU of unknown compute capability; fill in link_bandwidth\n",
            gpu->nvlinks);
    else if (request->link_bandwidth > 0)
        st_buffer_printf(buffer, "  # the file has no <nvlink>: the GPU's own links, %s GB/s\n",
                         significant(request->link_bandwidth / 1e9, rate));
    else if (request->gpu != NULL && gpu->pcie_mbit_per_s > 0)
        st_buffer_printf(buffer,
                         "  link_bandwidth: {value: %s GB/s, source: PCIe as NCCL counts it}\n",
                         significant(gpu->pcie_mbit_per_s / 8000, rate));
    else if (gpu->pcie_mbit_per_s > 0)
        st_buffer_printf(buffer,
                         "  # the file has no <nvlink>: links are those of the GPU that 'base' "
                         "names; PCIe has %s GB/s\n",
                         significant(gpu->pcie_mbit_per_s / 8000, rate));
    else
        st_buffer_text(buffer, "  # neither NVLinks nor a PCIe link; fill in link_bandwidth\n");
}

/* The NICs of one node. */
static void write_nics(const st_topology *topology, st_buffer *buffer)
{
    char text[ST_QUANTITY_TEXT];
    char each[ST_QUANTITY_TEXT];
    double total = 0;
    double first = topology->net_count > 0 ? topology->nets[0].mbit_per_s : 0;
    size_t silent = 0;
    bool same = true;
    for (size_t i = 0; i < topology->net_count; i++) {
        total += topology->nets[i].mbit_per_s;
        silent += topology->nets[i].mbit_per_s > 0 ? 0 : 1;
        same = same && topology->nets[i].mbit_per_s == first;
    }
    size_t count = topology->net_count / topology->hosts;
    if (topology->net_count == 0) {
        st_buffer_text(buffer, "# no network; fill in nic_bandwidth\n");
    } else if (silent > 0) {
        st_buffer_printf(buffer, "# %zu of %zu NICs of unknown speed; fill in nic_bandwidth\n",
                         silent, topology->net_count);
    } else {
        st_buffer_printf(buffer, "nic_bandwidth: {value: %s GB/s, source: \"%zu network ports",
                         significant(total / 8000 / (double)topology->hosts, text), count);
        if (same)
            st_buffer_printf(buffer, " of %s Gbit/s", significant(first / 1000, each));
        st_buffer_text(buffer, "\"}\n");
    }
}

static st_status check(const st_topology *topology, const st_topology_request *request,
                       st_errors *errors)
{
    size_t gpus = topology->gpu_count;
    if (gpus == 0)
        return st_fail(errors, ST_ERR_VALUE, (st_place){.file = request->file},
                       "the topology has no GPU");
    unsigned sm = topology->gpus[0].sm;
    unsigned named = request->gpu != NULL ? (unsigned)lround(request->compute_capability * 10) : 0;
    if (named > 0 && sm > 0 && named != sm)
        return st_fail(errors, ST_ERR_VALUE, (st_place){.file = request->file},
                       "the GPUs of the file are not %s" ST_FOUND
                       "compute capability %u.%u, and %u.%u of %s",
                       request->gpu, sm / 10, sm % 10, named / 10, named % 10, request->gpu);
    if (gpus % topology->hosts != 0)
        return st_fail(errors, ST_ERR_VALUE, (st_place){.file = request->file},
                       "the number of GPUs is not a multiple of that of hosts" ST_FOUND
                       "%zu GPUs of %zu hosts",
                       gpus, topology->hosts);
    for (size_t i = 1; i < gpus; i++) {
        const st_topology_gpu *gpu = &topology->gpus[i];
        if (gpu->sm != topology->gpus[0].sm)
            return st_fail(
                errors, ST_ERR_VALUE, (st_place){.file = request->file},
                "the GPUs are not all of one kind" ST_FOUND "compute capabilities %u.%u and %u.%u",
                topology->gpus[0].sm / 10, topology->gpus[0].sm % 10, gpu->sm / 10, gpu->sm % 10);
        if (gpu->nvlinks != topology->gpus[0].nvlinks)
            return st_fail(errors, ST_ERR_VALUE, (st_place){.file = request->file},
                           "the GPUs have different numbers of NVLinks" ST_FOUND "%u and %u",
                           topology->gpus[0].nvlinks, gpu->nvlinks);
    }
    return ST_OK;
}

/* Appends the cluster. */
static st_status write_cluster(const st_topology *topology, const st_topology_request *request,
                               st_buffer *cluster, st_errors *errors)
{
    st_status status = check(topology, request, errors);
    if (status != ST_OK)
        return status;
    st_buffer_text(cluster, "# Written by steptime import nccl-topo from ");
    write_plain(request->file, cluster);
    st_buffer_text(cluster, "\nname: \"Cluster of ");
    write_plain(request->file, cluster);
    st_buffer_text(cluster, "\"\nsource: \"NCCL topology file ");
    write_plain(request->file, cluster);
    st_buffer_printf(cluster, "\"\nnodes: %zu%s\ngpus_per_node: %zu\n",
                     request->nodes > 0 ? request->nodes : topology->hosts,
                     request->nodes > 0 ? "" : " # those of the file",
                     topology->gpu_count / topology->hosts);
    write_nics(topology, cluster);
    const st_topology_gpu *gpu = &topology->gpus[0];
    st_buffer_text(cluster, "gpu:\n");
    if (request->gpu != NULL) {
        st_buffer_text(cluster, "  base: \"");
        write_plain(request->gpu, cluster);
        st_buffer_text(cluster, "\"\n");
    } else {
        st_buffer_text(cluster, "  # the file does not name the GPU");
        if (gpu->sm > 0)
            st_buffer_printf(cluster, ", only its compute capability, %u.%u", gpu->sm / 10,
                             gpu->sm % 10);
        st_buffer_text(cluster, ": give --gpu NAME, or write 'base: NAME'\n");
    }
    write_links(gpu, request, cluster);
    return cluster->failed ? ST_ERR_MEMORY : ST_OK;
}

/* ---- the file ---- */

st_status st_import_nccl_topology(const st_topology_request *request, st_buffer *cluster,
                                  st_errors *errors)
{
    st_topology topology = {0};
    xml_reader reader = {.request = request,
                         .topology = &topology,
                         .arena = st_arena_create(),
                         .errors = errors,
                         .parser = XML_ParserCreate(NULL)};
    st_status status = ST_ERR_MEMORY;
    if (reader.arena == NULL || reader.parser == NULL)
        goto cleanup;
    if (request->length > ST_TOPOLOGY_MAX_BYTES) {
        fail(&reader, ST_ERR_LIMIT, "the file is larger than 8 MiB");
    } else {
        XML_SetUserData(reader.parser, &reader);
        XML_SetElementHandler(reader.parser, on_start, on_end);
        XML_SetStartDoctypeDeclHandler(reader.parser, on_doctype);
        if (XML_Parse(reader.parser, request->text, (int)request->length, XML_TRUE) ==
                XML_STATUS_ERROR &&
            reader.status == ST_OK) {
            enum XML_Error code = XML_GetErrorCode(reader.parser);
            if (code == XML_ERROR_NO_MEMORY)
                fail(&reader, ST_ERR_MEMORY, "out of memory");
            else
                fail(&reader, ST_ERR_SYNTAX, "bad XML: %s", XML_ErrorString(code));
        }
    }
    status = reader.status;
    if (status != ST_OK)
        goto cleanup;
    topology.hosts = topology.hosts > 0 ? topology.hosts : 1;
    /* Where some GPUs or ports have elements of their own, those of a class alone are the same
     * ones, or not visible. */
    size_t gpus = 0;
    size_t nets = 0;
    bool has_gpu = false;
    bool has_net = false;
    for (size_t i = 0; i < topology.gpu_count; i++)
        has_gpu = has_gpu || topology.gpus[i].described;
    for (size_t i = 0; i < topology.net_count; i++)
        has_net = has_net || topology.nets[i].described;
    for (size_t i = 0; i < topology.gpu_count; i++)
        if (!has_gpu || topology.gpus[i].described)
            topology.gpus[gpus++] = topology.gpus[i];
    for (size_t i = 0; i < topology.net_count; i++)
        if (!has_net || topology.nets[i].described)
            topology.nets[nets++] = topology.nets[i];
    topology.gpu_count = gpus;
    topology.net_count = nets;
    status = write_cluster(&topology, request, cluster, errors);
cleanup:
    if (reader.parser != NULL)
        XML_ParserFree(reader.parser);
    st_arena_destroy(reader.arena);
    return status;
}

#else

st_status st_import_nccl_topology(const st_topology_request *request, st_buffer *cluster,
                                  st_errors *errors)
{
    (void)request;
    (void)cluster;
    return st_fail(errors, ST_ERR_USAGE, (st_place){0},
                   "this build lacks expat, which reads XML" ST_HINT
                   "install libexpat1-dev and build it again");
}

#endif
