// SPDX-License-Identifier: Apache-2.0
//
// Transfers per second through hls::stream in emulated compute units: between two processes of one
// kernel (the producer first, as in a pipeline; the consumer first, where a depth of 64 or 2
// matters), along a chain of three, with words of 64 bytes, and between two kernels on two threads.
//
// Runs on the scheduler of the units, without a card; the sum of the received values is checked.
// Figures: M transfers/s, 30 samples. In one kernel: a million values, by the thread's processor
// time, which other programs do not change. Between kernels: four million, by the clock.
#include <array>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <thread>

#include "drivers/cpu/samples.h"
#include "fpga_hls/runtime/scheduler.h"
#include "hls_stream.h"

extern "C" {
void* tandem_region_open();
void tandem_region_start(void* region, const char* name, void (*body)(void*), void* argument);
void tandem_region_join(void* region);
void tandem_region_drop(void* region);
}

namespace tandem::bench {
namespace {

using hls_runtime::End;
using hls_runtime::Scheduler;
using hls_runtime::UnitGroup;

constexpr int kStreamSamples = 30;
constexpr int kValues = 1'000'000;
constexpr int kLinkValues = 4'000'000;

struct Word {  // 512 bits
  std::array<int, 16> lanes;
};

template <typename T>
T make(int value) {
  T result{};
  *reinterpret_cast<int*>(&result) = value;
  return result;
}

template <typename T>
void produce(hls::stream<T>& out, int count) {
  for (int i = 0; i < count; ++i) out.write(make<T>(i));
}
template <typename T>
void pass(hls::stream<T>& in, hls::stream<T>& out, int count) {
  for (int i = 0; i < count; ++i) out.write(in.read());
}
template <typename T>
void consume(hls::stream<T>& in, int count) {
  int64_t sum = 0;
  for (int i = 0; i < count; ++i) {
    const T value = in.read();
    sum += *reinterpret_cast<const int*>(&value);
  }
  if (sum != int64_t{count} * (count - 1) / 2) std::abort();
}

class Region {
 public:
  Region() : region_(tandem_region_open()) {}
  ~Region() { tandem_region_drop(region_); }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
  void start(const char* name, const std::function<void()>& body) {
    tandem_region_start(
        region_, name,
        [](void* argument) { (*static_cast<const std::function<void()>*>(argument))(); },
        const_cast<std::function<void()>*>(&body));
  }
  void join() { tandem_region_join(region_); }

 private:
  void* region_;
};

double run(Scheduler& unit, const std::function<void()>& kernel) {
  return seconds([&] {
    const End end =
        unit.run([](void* argument) { (*static_cast<const std::function<void()>*>(argument))(); },
                 const_cast<std::function<void()>*>(&kernel));
    if (end != End::kDone) std::abort();
  });
}

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

void in_one_kernel(const std::string& name, int transfers, const std::function<void()>& kernel) {
  Scheduler unit({"unit_1"});
  unit.adopt_thread();
  run(unit, kernel);
  std::vector<double> rates;
  for (int sample = 0; sample < kStreamSamples; ++sample) {
    const double begin = processor_seconds();
    run(unit, kernel);
    rates.push_back(transfers / (processor_seconds() - begin) / 1e6);
  }
  unit.leave_thread();
  print_figure("hls_stream." + name, rates, "M transfers/s", nlohmann::ordered_json::object());
}

template <typename T>
void producer_first() {
  Region region;
  hls::stream<T> values;
  const std::function<void()> first = [&] { produce(values, kValues); };
  const std::function<void()> second = [&] { consume(values, kValues); };
  region.start("produce", first);
  region.start("consume", second);
  region.join();
}

void three_stages() {
  Region region;
  hls::stream<int> a, b;
  const std::function<void()> stages[] = {
      [&] { produce(a, kValues); }, [&] { pass(a, b, kValues); }, [&] { consume(b, kValues); }};
  for (const auto& stage : stages) region.start("stage", stage);
  region.join();
}

template <int kDepth>
void consumer_first() {
  Region region;
  hls::stream<int, kDepth> values;
  const std::function<void()> first = [&] { consume<int>(values, kValues); };
  const std::function<void()> second = [&] { produce<int>(values, kValues); };
  region.start("consume", first);
  region.start("produce", second);
  region.join();
}

template <typename T>
double link_seconds() {
  UnitGroup group;
  Scheduler writer({"writer_1", &group}), reader({"reader_1", &group});
  hls::stream<T> link("link");
  link.tandem_channel().unit[tandem_hls::kWriter] = &writer;
  link.tandem_channel().unit[tandem_hls::kReader] = &reader;
  link.tandem_channel().attention = 1;
  const auto run_unit = [](Scheduler& unit, const std::function<void()>& kernel) {
    unit.adopt_thread();
    run(unit, kernel);
    unit.leave_thread();
  };
  return seconds([&] {
    std::thread writing([&] { run_unit(writer, [&] { produce(link, kLinkValues); }); });
    run_unit(reader, [&] { consume(link, kLinkValues); });
    writing.join();
  });
}

template <typename T>
void between_kernels(const std::string& name) {
  link_seconds<T>();
  std::vector<double> rates;
  for (int sample = 0; sample < kStreamSamples; ++sample) {
    rates.push_back(kLinkValues / link_seconds<T>() / 1e6);
  }
  print_figure("hls_stream." + name, rates, "M transfers/s", nlohmann::ordered_json::object());
}

}  // namespace
}  // namespace tandem::bench

int main() {
  using namespace tandem::bench;
  in_one_kernel("one_kernel", kValues, [] { producer_first<int>(); });
  in_one_kernel("one_kernel_512_bits", kValues, [] { producer_first<Word>(); });
  in_one_kernel("one_kernel_three_stages", 2 * kValues, [] { three_stages(); });
  in_one_kernel("one_kernel_depth_64", kValues, [] { consumer_first<64>(); });
  in_one_kernel("one_kernel_depth_2", kValues, [] { consumer_first<2>(); });
  between_kernels<int>("two_kernels");
  between_kernels<Word>("two_kernels_512_bits");
  return 0;
}
