// SPDX-License-Identifier: Apache-2.0
// Prints the step time of a job for several values of a key: consumer JOB KEY VALUE...
#include <steptime/estimate.h>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>

namespace {

struct release {
    void operator()(st_estimate *estimate) const { st_estimate_destroy(estimate); }
    void operator()(st_errors *errors) const { st_errors_destroy(errors); }
};

class step_time {
  public:
    explicit step_time(const char *job) : errors(st_errors_create())
    {
        st_estimate_request request = ST_ESTIMATE_REQUEST_INIT;
        st_estimate *made = nullptr;
        request.job = job;
        require(st_estimate_create(&request, &made, errors.get()));
        estimate.reset(made);
    }

    void set(const std::string &assignment)
    {
        require(st_estimate_set(estimate.get(), assignment.c_str(), errors.get()));
    }

    std::string read()
    {
        st_estimate_cell cell = ST_ESTIMATE_CELL_INIT;
        require(st_estimate_read_role(estimate.get(), "step", &cell, errors.get()));
        return cell.text;
    }

  private:
    void require(st_status status)
    {
        if (status == ST_OK)
            return;
        st_errors_write(errors.get(), stderr);
        throw std::runtime_error(st_status_text(status));
    }

    std::unique_ptr<st_errors, release> errors;
    std::unique_ptr<st_estimate, release> estimate;
};

} // namespace

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    try {
        step_time job(argv[1]);
        for (int i = 3; i < argc; i++) {
            job.set(std::string(argv[2]) + "=" + argv[i]);
            std::printf("%s=%s: %s\n", argv[2], argv[i], job.read().c_str());
        }
    } catch (const std::exception &) {
        return 1;
    }
    return 0;
}
