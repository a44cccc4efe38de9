// SPDX-License-Identifier: Apache-2.0
//
// Exercises: a program that starts copies of itself. Every process has the platform, a device and a
// program of its own, all at the same time, and ends cleanly.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "opencl_card.h"

using namespace tandem::fpga_test;

namespace {

constexpr int kProcesses = 4, kRounds = 50;
constexpr unsigned int kSize = 1000;
constexpr size_t kBytes = kSize * 4;

void work(const Arguments& arguments, int seed) {
  const LoadedCard card(arguments.xclbin);
  const Queue queue = card.queue();
  const Kernel vadd = card.kernel("vadd");
  const Memory a = card.buffer(CL_MEM_READ_ONLY, kBytes);
  const Memory b = card.buffer(CL_MEM_READ_ONLY, kBytes);
  const Memory out = card.buffer(CL_MEM_WRITE_ONLY, kBytes);
  set_arguments(vadd.get(), a, b, out, kSize);
  std::vector<int> sums(kSize);
  for (int round = 0; round < kRounds; ++round) {
    const auto a_values = numbers(kSize, seed), b_values = numbers(kSize, round);
    OCL(clEnqueueWriteBuffer(queue.get(), a.get(), CL_FALSE, 0, kBytes, a_values.data(), 0, nullptr,
                             nullptr));
    OCL(clEnqueueWriteBuffer(queue.get(), b.get(), CL_FALSE, 0, kBytes, b_values.data(), 0, nullptr,
                             nullptr));
    OCL(clEnqueueTask(queue.get(), vadd.get(), 0, nullptr, nullptr));
    OCL(clEnqueueReadBuffer(queue.get(), out.get(), CL_TRUE, 0, kBytes, sums.data(), 0, nullptr,
                            nullptr));
    check_sums(sums.data(), a_values, b_values);
  }
}

void start(const Arguments& arguments) {
  if (!arguments.rest.empty()) {
    work(arguments, std::atoi(arguments.rest[0].c_str()));
    return;
  }
  std::vector<pid_t> children;
  for (int index = 0; index < kProcesses; ++index) {
    const std::string seed = std::to_string(index + 1);
    const pid_t child = fork();
    if (child == 0) {
      execl("/proc/self/exe", "many_processes", arguments.xclbin.c_str(), seed.c_str(), nullptr);
      _exit(127);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, start); }
