/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NCCL's topology file (NVIDIA/nccl, src/graph/xml.cc): <system> holds <cpu>, below which PCI
 * devices nest; a GPU is <gpu> in <pci>, with <nvlink> and <c2c>, a network port is <net> in <nic>.
 * Files that clouds ship name the PCI devices only, GPUs and NICs by their class.
 *
 * The reader is expat. A document type, the only place where entities are declared, is refused, so
 * that nothing expands.
 */
#include "launch/import/topology.h"

#include "base/chars.h"

#ifdef STEPTIME_HAVE_EXPAT

#include "steptime/quantity.h"

#include <expat.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    st_topology *own = reader->topology;
    if (own->gpu_count >= ST_TOPOLOGY_MAX_GPUS) {
        fail(reader, ST_ERR_LIMIT, "more than 4096 GPUs");
        return;
    }
    if (!ST_APPEND(reader->arena, own->gpus, own->gpu_count, *gpu))
        fail(reader, ST_ERR_MEMORY, "out of memory");
}

static void add_net(xml_reader *reader, const st_topology_net *net)
{
    st_topology *own = reader->topology;
    if (own->net_count >= ST_TOPOLOGY_MAX_NETS) {
        fail(reader, ST_ERR_LIMIT, "more than 4096 network ports");
        return;
    }
    if (!ST_APPEND(reader->arena, own->nets, own->net_count, *net))
        fail(reader, ST_ERR_MEMORY, "out of memory");
}

/* A GPU or a network adapter known only by its class. */
static void open_pci(xml_reader *reader, open_element *own, const char *const *attributes)
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
    own->pcie_mbit_per_s = rate;
    if (class == NULL || strlen(class) < 6)
        return;
    if (strncmp(class, "0x0302", 6) == 0 || strncmp(class, "0x0300", 6) == 0)
        add_gpu(reader, &(st_topology_gpu){.pcie_mbit_per_s = rate});
    else if (strncmp(class, "0x0200", 6) == 0 || strncmp(class, "0x0207", 6) == 0)
        add_net(reader, &(st_topology_net){.name = ""});
}

static void open_link(xml_reader *reader, element kind, const char *const *attributes)
{
    st_topology *own = reader->topology;
    if (parent_of(reader, GPU) == NULL || own->gpu_count == 0) {
        fail(reader, ST_ERR_SYNTAX, "<%s> outside of <gpu>", element_names[kind]);
        return;
    }
    st_topology_gpu *gpu = &own->gpus[own->gpu_count - 1];
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
    st_topology *own = reader->topology;
    if (host == NULL)
        return;
    for (size_t i = 0; i < own->hosts; i++)
        if (strcmp(reader->hosts[i], host) == 0)
            return;
    if (own->hosts >= ST_TOPOLOGY_MAX_GPUS) {
        fail(reader, ST_ERR_LIMIT, "more than 4096 hosts");
        return;
    }
    const char *copy = copy_text(reader, host);
    if (copy != NULL && !ST_APPEND(reader->arena, reader->hosts, own->hosts, copy))
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
    const char *const *own = (const char *const *)attributes;
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
        const char *version = st_attribute(own, "version");
        if (kind != SYSTEM)
            fail(reader, ST_ERR_SYNTAX,
                 "not a topology of NCCL" ST_FOUND "<%s>" ST_EXPECTED "<system>", name);
        else if (version != NULL && strcmp(version, "1") != 0)
            fail(reader, ST_ERR_VALUE,
                 "unsupported topology version" ST_FOUND "'%s'" ST_EXPECTED "version 1", version);
    } else if (kind == CPU) {
        open_cpu(reader, own);
    } else if (kind == PCI) {
        open_pci(reader, opened, own);
    } else if (kind == GPU) {
        const open_element *pci = parent_of(reader, PCI);
        add_gpu(reader,
                &(st_topology_gpu){.sm = (unsigned)number_of(reader, own, "sm", 999),
                                   .pcie_mbit_per_s = pci != NULL ? pci->pcie_mbit_per_s : 0,
                                   .described = true});
    } else if (kind == NVLINK || kind == C2C) {
        open_link(reader, kind, own);
    } else if (kind == NET) {
        open_net(reader, own);
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
    const st_topology_request *parse_request = reader.request;
    if (parse_request->length > ST_TOPOLOGY_MAX_BYTES) {
        fail(&reader, ST_ERR_LIMIT, "the file is larger than 8 MiB");
    } else {
        XML_SetUserData(reader.parser, &reader);
        XML_SetElementHandler(reader.parser, on_start, on_end);
        XML_SetStartDoctypeDeclHandler(reader.parser, on_doctype);
        if (XML_Parse(reader.parser, parse_request->text, (int)parse_request->length, XML_TRUE) ==
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
    status = st_topology_write(&topology, request, cluster, errors);
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
