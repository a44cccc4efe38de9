// SPDX-License-Identifier: Apache-2.0
//
// emulation_soak <xclbin> <processes> <threads> <cards> <launches per process>: the threads of
// these processes launch kernels on cards that all share, and check every result.
//
// After a tenth of the launches, and at the end, it looks at the memory and the descriptors of
// every process: they must not have grown. Buffers come and go meanwhile, some imported from
// another card. Prints one JSON line; the exit code is 0 when there was no error, no growth, and
// nothing is left. Needs XILINX_XRT.
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "forked_process.h"

namespace tandem::emulation_test {
namespace {

constexpr uint64_t kMaxGrowthBytes = 24 << 20;  // allocators keep a little
constexpr size_t kMaxMoreDescriptors = 8;
constexpr uint64_t kWarmUpShare = 10;
constexpr uint64_t kMostInterval = 500;  // between buffers that come and go
constexpr uint64_t kLeastInterval = 5;
constexpr uint64_t kBufferBytes = 1 << 20;       // large, so that a few leaks show in the growth
constexpr std::chrono::seconds kPatience{7200};  // for the slowest of the others

struct Plan {
  std::string xclbin;
  uint32_t processes = 0, threads = 0, cards = 0;
  uint64_t launches = 0;  // per process
};

// Every thread shares a few dozen buffers at least.
uint64_t buffer_interval(const Plan& plan) {
  return std::clamp(plan.launches / plan.threads / 20, kLeastInterval, kMostInterval);
}

struct Footprint {
  uint64_t resident_bytes = 0;
  size_t descriptors = 0;
};

Footprint footprint(pid_t process) {
  const std::string folder = "/proc/" + std::to_string(process);
  std::ifstream in(folder + "/statm");
  uint64_t total = 0, resident = 0;
  in >> total >> resident;
  Footprint result;
  result.resident_bytes = resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  for ([[maybe_unused]] const auto& file : std::filesystem::directory_iterator(folder + "/fd")) {
    ++result.descriptors;
  }
  return result;
}

struct OpenCard {
  OpenCard(uint32_t index, const std::string& xclbin)
      : device(index), uuid(device.load_xclbin(xclbin)), kernel(device, uuid, "trial") {}
  xrt::device device;
  xrt::uuid uuid;
  xrt::kernel kernel;
};

// One thread's share on one card; buffers of `other` are imported now and then.
class Launcher {
 public:
  Launcher(OpenCard& card, OpenCard& other, uint32_t seed, uint64_t interval)
      : card_(card),
        other_(other),
        seed_(seed),
        interval_(interval),
        out_(card.device, 4096, card.kernel.group_id(2)),
        run_(card.kernel) {
    run_.set_arg(0, 0u);
    run_.set_arg(2, out_);
  }

  uint64_t launch(uint64_t count) {
    uint64_t errors = 0;
    for (uint64_t i = 0; i < count; ++i, ++done_) {
      const auto value = static_cast<uint32_t>(seed_ * 1'000'003 + done_);
      run_.set_arg(1, value);
      run_.start();
      const bool completed = run_.wait() == ERT_CMD_STATE_COMPLETED;
      out_.sync(XCL_BO_SYNC_BO_FROM_DEVICE, 4, 0);
      if (!completed || out_.map<uint32_t*>()[0] != value) ++errors;
      if (done_ % interval_ == 0 && !exchange(value)) ++errors;
    }
    return errors;
  }

 private:
  // A value goes from a new buffer of the other card into one of this card.
  bool exchange(uint32_t value) {
    xrt::bo there(other_.device, kBufferBytes, other_.kernel.group_id(2));
    auto* values = there.map<uint32_t*>();
    std::fill(values, values + kBufferBytes / 4, value);
    there.sync(XCL_BO_SYNC_BO_TO_DEVICE);
    xrt::bo here(card_.device, there.export_buffer());
    const auto* seen = here.map<uint32_t*>();
    return std::all_of(seen, seen + kBufferBytes / 4, [&](uint32_t one) { return one == value; });
  }

  OpenCard& card_;
  OpenCard& other_;
  const uint32_t seed_;
  const uint64_t interval_;
  xrt::bo out_;
  xrt::run run_;
  uint64_t done_ = 0;
};

class Worker {
 public:
  Worker(const Plan& plan, uint32_t number) : plan_(plan) {
    for (uint32_t card = 0; card < plan.cards; ++card) {
      cards_.push_back(std::make_unique<OpenCard>(card, plan.xclbin));
    }
    for (uint32_t thread = 0; thread < plan.threads; ++thread) {
      launchers_.push_back(std::make_unique<Launcher>(
          *cards_[(number + thread) % plan.cards], *cards_[(number + thread + 1) % plan.cards],
          number * plan.threads + thread, buffer_interval(plan)));
    }
  }

  // Each thread's share of `launches`; returns the errors.
  uint64_t launch(uint64_t launches) {
    std::atomic<uint64_t> errors{0};
    std::vector<std::thread> threads;
    for (auto& launcher : launchers_) {
      threads.emplace_back([&, launcher = launcher.get()] {
        try {
          errors += launcher->launch(launches / plan_.threads);
        } catch (const std::exception& error) {
          std::fprintf(stderr, "process %d: %s\n", getpid(), error.what());
          ++errors;
        }
      });
    }
    for (auto& thread : threads) thread.join();
    return errors;
  }

 private:
  const Plan& plan_;
  std::vector<std::unique_ptr<OpenCard>> cards_;
  std::vector<std::unique_ptr<Launcher>> launchers_;
};

bool work(Line& line, const Plan& plan, uint32_t number) {
  line.hear();
  Worker worker(plan, number);
  const uint64_t warm_up = plan.launches / kWarmUpShare;
  const uint64_t first = worker.launch(warm_up);
  line.say("warm");
  line.hear(kPatience);
  const uint64_t errors = first + worker.launch(plan.launches - warm_up);
  line.say(std::to_string(errors));
  line.hear(kPatience);
  return errors == 0;
}

class Soak {
 public:
  explicit Soak(const Plan& plan) : plan_(plan), scope_(use_own_scope()) {
    for (uint32_t number = 0; number < plan.processes; ++number) {
      processes_.push_back(std::make_unique<ForkedProcess>(
          [&plan, number](Line& line) { return work(line, plan, number); }));
    }
  }

  bool run() {
    const auto begin = std::chrono::steady_clock::now();
    for (auto& process : processes_) process->line().say("go");
    hear_all();
    const std::vector<Footprint> warm = footprints();
    for (auto& process : processes_) process->line().say("go");
    const uint64_t errors = hear_all();
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    const std::vector<Footprint> end = footprints();
    for (auto& process : processes_) process->line().say("end");
    bool all_well = true;
    for (auto& process : processes_) all_well = process->ended_well() && all_well;
    const bool clean = all_gone(scope_);
    const bool constant = report_growth(warm, end);
    std::printf("%llu, \"seconds\": %.1f, \"errors\": %llu, \"nothing_left\": %s}\n",
                static_cast<unsigned long long>(plan_.launches * plan_.processes), time.count(),
                static_cast<unsigned long long>(errors), clean ? "true" : "false");
    return all_well && errors == 0 && clean && constant;
  }

 private:
  // The sum of the numbers that all processes report.
  uint64_t hear_all() {
    uint64_t sum = 0;
    for (auto& process : processes_) {
      sum += std::strtoull(process->line().hear(kPatience).text.c_str(), nullptr, 10);
    }
    return sum;
  }

  std::vector<Footprint> footprints() const {
    std::vector<Footprint> result;
    for (pid_t card : shared_card_processes(scope_)) result.push_back(footprint(card));
    for (const auto& process : processes_) result.push_back(footprint(process->id()));
    return result;
  }

  static bool report_growth(const std::vector<Footprint>& before,
                            const std::vector<Footprint>& after) {
    int64_t bytes = 0, descriptors = 0;
    bool constant = before.size() == after.size();
    for (size_t process = 0; constant && process < before.size(); ++process) {
      bytes = std::max(bytes, static_cast<int64_t>(after[process].resident_bytes) -
                                  static_cast<int64_t>(before[process].resident_bytes));
      descriptors = std::max(descriptors, static_cast<int64_t>(after[process].descriptors) -
                                              static_cast<int64_t>(before[process].descriptors));
    }
    std::printf("{\"most_growth_bytes\": %lld, \"most_growth_descriptors\": %lld, \"launches\": ",
                static_cast<long long>(bytes), static_cast<long long>(descriptors));
    return constant && bytes <= static_cast<int64_t>(kMaxGrowthBytes) &&
           descriptors <= static_cast<int64_t>(kMaxMoreDescriptors);
  }

  const Plan& plan_;
  const std::string scope_;
  std::vector<std::unique_ptr<ForkedProcess>> processes_;
};

}  // namespace
}  // namespace tandem::emulation_test

int main(int num_arguments, char** arguments) {
  using namespace tandem::emulation_test;
  if (num_arguments != 6) {
    std::fprintf(stderr, "emulation_soak <xclbin> <processes> <threads> <cards> <launches>\n");
    return 2;
  }
  Plan plan;
  plan.xclbin = arguments[1];
  plan.processes = static_cast<uint32_t>(std::atoi(arguments[2]));
  plan.threads = static_cast<uint32_t>(std::atoi(arguments[3]));
  plan.cards = static_cast<uint32_t>(std::atoi(arguments[4]));
  plan.launches = std::strtoull(arguments[5], nullptr, 10);
  setenv("TANDEM_CARDS", arguments[4], 1);
  try {
    return Soak(plan).run() ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "emulation_soak: %s\n", error.what());
    return 1;
  }
}
