/* SPDX-License-Identifier: Apache-2.0 */
/* A config.json as a job, what starts it, and its traffic: plan CONFIG CLUSTER KEY=VALUE... */
#include <steptime/launch.h>
#include <steptime/job_traffic.h>

#include <stdio.h>
#include <stdlib.h>

static st_status read_file(const char *name, st_buffer *text, st_errors *errors)
{
    char part[4096];
    FILE *file = fopen(name, "rb");
    if (file == NULL)
        return st_fail(errors, ST_ERR_IO, (st_place){.file = name}, "cannot read the file");
    for (size_t count; (count = fread(part, 1, sizeof part, file)) > 0;)
        st_buffer_append(text, part, count);
    (void)fclose(file);
    return ST_OK;
}

static st_status write_file(const char *name, const st_buffer *text, st_errors *errors)
{
    FILE *file = fopen(name, "wb");
    if (file == NULL || fwrite(text->data, 1, text->length, file) != text->length ||
        fclose(file) != 0)
        return st_fail(errors, ST_ERR_IO, (st_place){.file = name}, "cannot write the file");
    return ST_OK;
}

static st_status import_job(int argc, char **argv, st_buffer *job, st_errors *errors)
{
    st_buffer text = {0};
    st_launch_import_request request = ST_LAUNCH_IMPORT_REQUEST_INIT;
    st_status status = read_file(argv[1], &text, errors);
    request.format = "hf";
    request.name = argv[1];
    request.text = text.data;
    request.length = text.length;
    request.cluster = argv[2];
    request.sets = (const char *const *)argv + 3;
    request.set_count = (size_t)argc - 3;
    if (status == ST_OK)
        status = st_launch_import(&request, job, errors);
    st_buffer_free(&text);
    return status;
}

static st_status traffic_of(const char *job, st_buffer *rows, st_errors *errors)
{
    st_estimate *estimate = NULL;
    st_estimate_request request = ST_ESTIMATE_REQUEST_INIT;
    st_traffic_request asked = ST_TRAFFIC_REQUEST_INIT;
    st_estimate_view view = ST_ESTIMATE_VIEW_INIT;
    request.job = job;
    view.form = ST_ESTIMATE_CSV;
    st_status status = st_estimate_create(&request, &estimate, errors);
    if (status == ST_OK)
        status = st_traffic_write(estimate, &asked, &view, rows, errors);
    st_estimate_destroy(estimate);
    return status;
}

int main(int argc, char **argv)
{
    st_errors *errors = st_errors_create();
    st_buffer text = {0};
    st_launch_export_request request = ST_LAUNCH_EXPORT_REQUEST_INIT;
    if (argc < 3 || errors == NULL)
        return 2;
    st_status status = import_job(argc, argv, &text, errors);
    if (status == ST_OK)
        status = write_file("./job.yaml", &text, errors);
    st_buffer_free(&text);
    request.format = "megatron";
    request.job = "./job.yaml";
    if (status == ST_OK)
        status = st_launch_export(&request, &text, errors);
    if (status == ST_OK)
        status = traffic_of("./job.yaml", &text, errors);
    if (status == ST_OK)
        (void)fwrite(text.data, 1, text.length, stdout);
    st_errors_write(errors, stderr);
    st_buffer_free(&text);
    st_errors_destroy(errors);
    return status == ST_OK ? 0 : 1;
}
