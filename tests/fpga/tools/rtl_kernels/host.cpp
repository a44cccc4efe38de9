// SPDX-License-Identifier: Apache-2.0
//
// host XCLBIN MISTAKE UNIT...: starts vadd on each unit, then again, checks the results and the sum
// that the unit leaves in its register. Prints the states of runs that do not complete. After a
// mistake that stops the run, each unit runs once more without it.
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

constexpr int kLength = 1000;  // the last burst is short
constexpr size_t kBytes = kLength * sizeof(uint32_t);
constexpr uint32_t kSumRegister = 0x38;
constexpr int kStops = 7;  // this mistake and those above end the run

struct Job {
  Job(const xrt::device& device, const xrt::uuid& uuid, const std::string& unit)
      : kernel(device, uuid, "vadd:{" + unit + "}", xrt::kernel::cu_access_mode::exclusive),
        a(device, kBytes, kernel.group_id(0)),
        b(device, kBytes, kernel.group_id(1)),
        out(device, kBytes, kernel.group_id(2)) {}

  void start(uint32_t factor, int mistake) {
    expected_sum = 0;
    for (uint32_t i = 0; i < kLength; ++i) {
      a.map<uint32_t*>()[i] = factor * i;
      b.map<uint32_t*>()[i] = i + 7;
      out.map<uint32_t*>()[i] = 0;
      expected_sum += factor * i + i + 7;
    }
    for (xrt::bo* buffer : {&a, &b, &out}) buffer->sync(XCL_BO_SYNC_BO_TO_DEVICE);
    run = kernel(a, b, out, kLength, 0, mistake);
    this->factor = factor;
  }

  bool is_right() {
    const ert_cmd_state state = run.wait();
    if (state != ERT_CMD_STATE_COMPLETED) {
      std::printf("the run ended with state %d\n", static_cast<int>(state));
      return false;
    }
    out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
    for (uint32_t i = 0; i < kLength; ++i) {
      if (out.map<uint32_t*>()[i] != factor * i + i + 7) {
        std::printf("out[%u] is %u\n", i, out.map<uint32_t*>()[i]);
        return false;
      }
    }
    const uint32_t sum = kernel.read_register(kSumRegister);
    if (sum != expected_sum) std::printf("the sum is %u instead of %u\n", sum, expected_sum);
    return sum == expected_sum;
  }

  xrt::kernel kernel;
  xrt::bo a, b, out;
  xrt::run run;
  uint32_t factor = 0, expected_sum = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  xrt::device device(0);
  const xrt::uuid uuid = device.load_xclbin(argv[1]);
  std::vector<Job> jobs;
  for (int index = 3; index < argc; ++index) jobs.emplace_back(device, uuid, argv[index]);
  for (uint32_t factor = 3; factor < 5; ++factor) {
    for (size_t job = 0; job < jobs.size(); ++job) {
      jobs[job].start(factor + static_cast<uint32_t>(10 * job), std::atoi(argv[2]));
    }
    for (Job& job : jobs) {
      if (job.is_right()) continue;
      if (std::atoi(argv[2]) >= kStops) {
        job.start(factor, 0);
        std::printf("the next run is %s\n", job.is_right() ? "right" : "wrong");
      }
      std::printf("TEST FAILED\n");
      return 1;
    }
  }
  std::printf("TEST PASSED\n");
  return 0;
}
