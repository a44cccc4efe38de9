// SPDX-License-Identifier: Apache-2.0
//
// Exercises: a kernel that reads a buffer to which nobody wrote is told, although the library sends
// the buffer to the card; one that was filled, with zeros too, is not.
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>

#include "opencl_card.h"

using namespace tandem::fpga_test;

namespace {

constexpr unsigned int kValues = 2048;
constexpr size_t kBytes = kValues * sizeof(int);

std::string take_report() {
  const char* const name = std::getenv("TANDEM_CARD_REPORT");
  std::ifstream in(name);
  const std::string report(std::istreambuf_iterator<char>(in), {});
  std::remove(name);
  return report;
}

struct Bench {
  const LoadedCard& card;
  cl_command_queue queue;
  const std::vector<int>& values;

  Memory unwritten(cl_mem_flags flags = CL_MEM_READ_ONLY) const {
    return card.buffer(flags, kBytes);
  }
  void write(cl_mem to, const void* from) const {
    OCL(clEnqueueWriteBuffer(queue, to, CL_TRUE, 0, kBytes, from, 0, nullptr, nullptr));
  }
  Memory written(const std::vector<int>& from) const {
    Memory made = unwritten();
    write(made.get(), from.data());
    return made;
  }
  void migrate(cl_mem memory) const {
    OCL(clEnqueueMigrateMemObjects(queue, 1, &memory, 0, 0, nullptr, nullptr));
  }
  void add(cl_mem a, cl_mem b, cl_mem out) const {
    const Kernel vadd = card.kernel("vadd");
    set_arguments(vadd.get(), a, b, out, kValues);
    OCL(clEnqueueTask(queue, vadd.get(), 0, nullptr, nullptr));
    OCL(clFinish(queue));
  }
};

struct Case {
  const char* name;
  bool is_told;
  std::function<Memory(const Bench&)> make;  // a buffer of zeros, if it has values
};

std::vector<Case> cases() {
  return {
      {"nobody wrote", true, [](const Bench& bench) { return bench.unwritten(); }},
      {"sent as it is", true,
       [](const Bench& bench) {
         Memory made = bench.unwritten(CL_MEM_READ_WRITE);
         bench.migrate(made.get());
         return made;
       }},
      {"zeros are written", false,
       [](const Bench& bench) { return bench.written(std::vector<int>(kValues)); }},
      {"filled with zeros", false,
       [](const Bench& bench) {
         Memory made = bench.unwritten();
         const int zero = 0;
         OCL(clEnqueueFillBuffer(bench.queue, made.get(), &zero, sizeof(zero), 0, kBytes, 0,
                                 nullptr, nullptr));
         return made;
       }},
      {"zeros through a map", false,
       [](const Bench& bench) {
         Memory made = bench.unwritten();
         cl_int code = CL_SUCCESS;
         void* const host = clEnqueueMapBuffer(bench.queue, made.get(), CL_TRUE, CL_MAP_WRITE, 0,
                                               kBytes, 0, nullptr, nullptr, &code);
         OCL(code);
         std::fill_n(static_cast<int*>(host), kValues, 0);
         OCL(clEnqueueUnmapMemObject(bench.queue, made.get(), host, 0, nullptr, nullptr));
         bench.migrate(made.get());
         return made;
       }},
      {"zeros of the system", false,
       [](const Bench& bench) {
         void* const host = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);  // for the process's life
         return bench.card.buffer(CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR, kBytes, host);
       }},
      {"copied from zeros", false,
       [](const Bench& bench) {
         Memory made = bench.unwritten();
         const Memory zeros = bench.written(std::vector<int>(kValues));
         bench.migrate(zeros.get());  // a copy does not wait for the library's own transfer
         OCL(clEnqueueCopyBuffer(bench.queue, zeros.get(), made.get(), 0, 0, kBytes, 0, nullptr,
                                 nullptr));
         OCL(clFinish(bench.queue));
         return made;
       }},
      {"written by a kernel", false,
       [](const Bench& bench) {
         std::vector<int> negative(kValues);
         std::transform(bench.values.begin(), bench.values.end(), negative.begin(),
                        [](int value) { return -value; });
         Memory made = bench.unwritten(CL_MEM_READ_WRITE);
         bench.add(bench.written(bench.values).get(), bench.written(negative).get(), made.get());
         return made;
       }},
  };
}

void unwritten(const Arguments& arguments) {
  const std::vector<int> values = numbers(kValues, 3);
  for (const Case& each : cases()) {
    std::printf("%s\n", each.name);
    const LoadedCard card(arguments.xclbin);
    const Queue queue = card.queue();
    const Bench bench{card, queue.get(), values};
    take_report();
    const Memory a = bench.written(values), out = bench.unwritten(CL_MEM_WRITE_ONLY);
    const Memory b = each.make(bench);
    bench.add(a.get(), b.get(), out.get());
    std::vector<int> sums(kValues);
    OCL(clEnqueueReadBuffer(queue.get(), out.get(), CL_TRUE, 0, kBytes, sums.data(), 0, nullptr,
                            nullptr));
    const std::string report = take_report();
    if (each.is_told) {
      CHECK(report.find("\"uninitialised_memory\"") != std::string::npos);
      CHECK(report.find("\"argument\": \"b\"") != std::string::npos);
    } else {
      CHECK_EQ(report, "");
      check_sums(sums.data(), values, std::vector<int>(kValues));
    }
  }
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, unwritten); }
