/* SPDX-License-Identifier: Apache-2.0 */
/* What is known before a program is recorded: where it is, whether it can be, what its calls cost.
 */
#include "report_support.h"

#include "record/price/imported.h"
#include "record/program_file.h"

#include <elf.h>

/* ---- files of programs ---- */

/* A program with these headers of parts and of sections, followed by `text`. */
typedef struct made_file {
    unsigned char class;
    uint16_t machine;
    uint32_t parts[3];    /* types; PT_NULL ends them */
    uint32_t sections[3]; /* types; SHT_NULL ends them, SHT_NOTE is as good as any */
    size_t text_at;
    const char *text;
    bool lacks_sections; /* the file ends before them */
    size_t cut;          /* bytes that are left of it; 0: all */
} made_file;

static void write_elf(const fixture *own, const char *name, const made_file *made)
{
    enum { BYTES = 140000 };
    char *bytes = calloc(1, BYTES);
    size_t at = sizeof(Elf64_Ehdr);
    Elf64_Ehdr head = {.e_machine = made->machine,
                       .e_phoff = at,
                       .e_phentsize = sizeof(Elf64_Phdr),
                       .e_shentsize = sizeof(Elf64_Shdr)};
    assert_non_null(bytes);
    memcpy(head.e_ident, ELFMAG, SELFMAG);
    head.e_ident[EI_CLASS] = made->class;
    for (; head.e_phnum < 3 && made->parts[head.e_phnum] != PT_NULL; head.e_phnum++) {
        const Elf64_Phdr part = {.p_type = made->parts[head.e_phnum]};
        memcpy(bytes + at, &part, sizeof part);
        at += sizeof part;
    }
    head.e_shoff = at;
    for (; head.e_shnum < 3 && made->sections[head.e_shnum] != SHT_NULL; head.e_shnum++) {
        const Elf64_Shdr section = {.sh_type = made->sections[head.e_shnum]};
        memcpy(bytes + at, &section, sizeof section);
        at += sizeof section;
    }
    head.e_shoff += made->lacks_sections ? BYTES : 0;
    memcpy(bytes, &head, sizeof head);
    if (made->text != NULL) {
        at = made->text_at > at ? made->text_at : at;
        memcpy(bytes + at, made->text, strlen(made->text));
        at += strlen(made->text);
    }
    write_bytes(own, name, bytes, made->cut > 0 ? made->cut : at);
    free(bytes);
}

static void allow(const fixture *own, const char *name, unsigned mode)
{
    assert_int_equal(chmod(below(own, name), (mode_t)mode), 0);
}

static void assert_found(fixture *own, const char *name, bool replaces, st_status status,
                         const char *text)
{
    const char *path = NULL;
    st_status found = st_program_find(name, replaces, own->arena, &path, own->errors);
    const char *told = said(own);
    if (found != status)
        fail_msg("%s: status %d, %s", name, found, told);
    assert_contains(told, text);
    assert_int_equal(path != NULL, status == ST_OK);
}

#define RUNTIME "cudaErrorCudartUnloading"
#define HEADER  .class = ELFCLASS64, .machine = EM_X86_64
#define LOADED  HEADER, .parts = {PT_LOAD, PT_INTERP, PT_NULL}

/* A text may lie across the pieces of 64 KiB in which files are read. */
TEST_WITH(programs_are_looked_at_before_they_run, set_up, tear_down)
{
    static const struct {
        made_file made;
        st_status status; /* where CUDA is replaced */
        const char *text;
    } cases[] = {
        {{LOADED}, ST_OK, ""},
        {{HEADER, .parts = {PT_INTERP, PT_LOAD, PT_NULL}}, ST_OK, ""},
        {{HEADER, .parts = {PT_LOAD, PT_LOAD, PT_NULL}}, ST_ERR_VALUE, "statically linked"},
        {{LOADED, .cut = 64 + 56 + 55}, ST_ERR_VALUE, "statically linked"},
        {{.class = ELFCLASS32, .machine = EM_X86_64}, ST_ERR_VALUE, "32-bit executable"},
        {{.class = ELFCLASS64, .machine = EM_AARCH64, .parts = {PT_INTERP, PT_NULL}},
         ST_ERR_VALUE,
         "not an x86-64 executable"},
        {{LOADED, .cut = 63}, ST_ERR_VALUE, "not an x86-64 executable"},
        {{LOADED, .cut = 15}, ST_ERR_VALUE, "not an executable; give an executable"},
        {{LOADED, .text = RUNTIME}, ST_ERR_VALUE, "static runtime"},
        {{LOADED, .text = RUNTIME, .text_at = 65530}, ST_ERR_VALUE, "static runtime"},
        {{LOADED, .text = RUNTIME, .text_at = 131050}, ST_ERR_VALUE, "static runtime"},
        {{LOADED, .text = "cudaErrorCudartUnloadinG"}, ST_OK, ""},
        {{LOADED, .text = RUNTIME " libcudart.so.12"}, ST_OK, ""},
        {{LOADED, .text = RUNTIME, .sections = {SHT_NOTE, SHT_NOTE, SHT_NULL}},
         ST_ERR_VALUE,
         "its symbols are stripped"},
        {{LOADED, .text = RUNTIME, .sections = {SHT_NOTE, SHT_SYMTAB, SHT_NULL}}, ST_OK, ""},
        {{LOADED, .text = RUNTIME, .sections = {SHT_SYMTAB, SHT_NULL}}, ST_OK, ""},
        {{LOADED, .text = RUNTIME, .sections = {SHT_SYMTAB, SHT_NULL}, .lacks_sections = true},
         ST_ERR_VALUE,
         "static runtime"},
    };
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        write_elf(own, "program", &cases[i].made);
        allow(own, "program", 0755);
        assert_found(own, below(own, "program"), true, cases[i].status, cases[i].text);
        if (strstr(cases[i].text, "stat") != NULL && cases[i].made.text != NULL)
            assert_found(own, below(own, "program"), false, ST_OK, "");
    }
}

TEST_WITH(programs_need_their_rights, set_up, tear_down)
{
    static const struct {
        unsigned mode;
        st_status status;
        const char *text;
    } cases[] = {
        {0755, ST_OK, ""},
        {0644, ST_ERR_VALUE, "permission denied"},
        {04755, ST_ERR_VALUE, "setuid or setgid"},
        {02755, ST_ERR_VALUE, "setuid or setgid"},
    };
    fixture *own = *state;
    write_text(own, "script", "#!/bin/sh\n");
    write_text(own, "text", "echo 2385, which no system runs by itself\n");
    for (size_t i = 0; i < COUNT(cases); i++) {
        allow(own, "script", cases[i].mode);
        assert_found(own, below(own, "script"), true, cases[i].status, cases[i].text);
    }
    allow(own, "text", 0755);
    assert_found(own, below(own, "text"), true, ST_ERR_VALUE,
                 "not an executable; give an executable");
    assert_found(own, below(own, "none"), true, ST_ERR_IO, "program not found");
    assert_found(own, own->folder, true, ST_ERR_IO, "program not found");
}

/* The first of PATH that may be run. */
TEST_OF(names_are_looked_for_as_a_shell_does, fixture *own, set_up, tear_down)
{
    const char *path = NULL;
    const char *before = st_arena_printf(own->arena, "%s", getenv("PATH"));
    write_text(own, "a/tool", "#!/bin/sh\n");
    write_text(own, "b/tool", "#!/bin/sh\n");
    write_text(own, "c/tool", "#!/bin/sh\n");
    write_text(own, "a/folder/kept", "");
    allow(own, "a/tool", 0644);
    allow(own, "b/tool", 0755);
    allow(own, "c/tool", 0755);
    assert_int_equal(setenv("PATH",
                            st_arena_printf(own->arena, "/no/such:%s:%s:%s", below(own, "a"),
                                            below(own, "b"), below(own, "c")),
                            1),
                     0);
    assert_int_equal(st_program_find("tool", true, own->arena, &path, own->errors), ST_OK);
    assert_string_equal(path, below(own, "b/tool"));
    assert_found(own, "folder", true, ST_ERR_IO, "program not found");
    assert_int_equal(unsetenv("PATH"), 0);
    assert_found(own, "tool", true, ST_ERR_IO, "program not found");
    assert_int_equal(setenv("PATH", before, 1), 0);
}

/* ---- costs of calls ---- */

static const st_call_cost *costs_of(fixture *own, const char *text, size_t expected)
{
    const st_call_cost *costs = NULL;
    size_t count = 0;
    write_text(own, "costs", text);
    if (st_call_costs_read(below(own, "costs"), own->arena, &costs, &count, own->errors) != ST_OK)
        fail_msg("%s", said(own));
    assert_int_equal(count, expected);
    return costs;
}

static void assert_cost(const st_call_cost *cost, const char *name, int64_t time_ns)
{
    assert_string_equal(cost->name, name);
    assert_int_equal(cost->time_ns, time_ns);
}

TEST_OF(costs_stand_in_tables, fixture *own, set_up, tear_down)
{
    const st_call_cost *costs = costs_of(own,
                                         "call,time_us\ncublas*,7.2496\ncudaFree,10000000\n"
                                         "cuda*,0\n",
                                         3);
    assert_cost(&costs[0], "cublas*", 7250);
    assert_cost(&costs[1], "cudaFree", INT64_C(10000000000));
    assert_cost(&costs[2], "cuda*", 0);
    size_t count = 0;
    write_text(own, "costs", "call,time_us\ncudaFree,10000001\n");
    assert_int_equal(
        st_call_costs_read(below(own, "costs"), own->arena, &costs, &count, own->errors),
        ST_ERR_VALUE);
    assert_contains(said(own), "costs:2");
}

#define CALL(name, ts, dur)                                                                        \
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"" name "\",\"pid\":4,\"tid\":2,\"ts\":" ts  \
    ",\"dur\":" dur ",\"args\":{\"correlation\":" ts "}},"
#define END "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":0}]}"

static const st_call_cost *cost_named(const st_call_cost *costs, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(costs[i].name, name) == 0)
            return &costs[i];
    fail_msg("no costs of '%s'", name);
    return NULL;
}

/* Medians of calls; those of libraries cost a launch, and those that wait say nothing. */
TEST_OF(costs_are_learnt_from_recordings, fixture *own, set_up, tear_down)
{
    const st_call_cost *costs = costs_of(
        own,
        " \n{\"traceEvents\":[" CALL("cudaLaunchKernel", "100", "9")
            CALL("cudaLaunchKernel", "200", "5") CALL("cudaMemsetAsync", "300", "3")
                CALL("cudaStreamSynchronize", "400", "50") CALL("cudaLaunchKernel", "500", "7")
                    CALL("cudaMemsetAsync", "600", "4") CALL("cudaFree", "700", "60")
                        CALL("cudaDeviceSynchronize", "800", "70")
                            CALL("cudaEventSynchronize", "900", "80") END,
        6);
    assert_int_equal(cost_named(costs, 6, "cudaLaunchKernel")->time_ns, 7000);
    assert_int_equal(cost_named(costs, 6, "cudaMemsetAsync")->time_ns, 4000);
    assert_int_equal(cost_named(costs, 6, "cublas*Gemm*")->time_ns, 7000);
    assert_int_equal(cost_named(costs, 6, "cublasLtMatmul")->time_ns, 7000);
    assert_int_equal(cost_named(costs, 6, "cudnnBackendExecute")->time_ns, 7000);
    assert_int_equal(cost_named(costs, 6, "nccl[A-Z]*")->time_ns, 7000);
    costs = costs_of(own, "{\"traceEvents\":[" CALL("cudaMemsetAsync", "300", "3") END, 1);
    assert_cost(&costs[0], "cudaMemsetAsync", 3000);
    size_t count = 0;
    write_text(own, "costs", "{\"traceEvents\":[" CALL("cudaFree", "300", "3") END);
    assert_int_equal(
        st_call_costs_read(below(own, "costs"), own->arena, &costs, &count, own->errors),
        ST_ERR_VALUE);
    assert_contains(said(own), "the recording contains no CUDA calls");
}

TESTS(record_program);
