// SPDX-License-Identifier: Apache-2.0
//
// The CPU as a device. Name and memory come from Linux; the speed is measured at the first request.
#include "cpu/backend.h"

#include <fstream>
#include <mutex>

#include "common/available_memory.h"
#include "common/error.h"
#include "cpu/arithmetic_peak.h"
#include "cpu/attention_unit.h"
#include "cpu/compute_unit.h"
#include "cpu/gradient_memory.h"
#include "cpu/options.h"
#include "cpu/read_bandwidth.h"
#include "cpu/selection_unit.h"
#include "cpu/sparse_unit.h"

namespace tandem::device {
namespace {

constexpr std::size_t kProbeBytes = std::size_t{256} << 20;  // several times a last-level cache

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (colon != std::string::npos && line.starts_with("model name")) {
      return line.substr(std::min(colon + 2, line.size()));
    }
  }
  return "host processor";
}

class CpuDevice final : public Device, public SparseDevice {
 public:
  explicit CpuDevice(const DeviceOptions& options)
      : threads_{options.num_threads, options.pin},
        team_(threads_),
        sparse_(cpu::sparse_mode(options.values.word(cpu::kSparseOption))),
        note_(options.note) {}

  const DeviceInfo& info() const override {
    std::call_once(described_, [this] {
      info_.id = "cpu";
      info_.kind = "cpu";
      info_.name = processor_name();
      info_.memory_bytes = cpu::total_memory_bytes();
      info_.memory_bandwidth_bytes_per_s = cpu::read_bandwidth(team_.plan());
      info_.peak_ops_per_s = cpu::peak_ops(team_.plan());
      info_.makes_compute = true;
      info_.makes_attention = true;
      info_.makes_selection = true;
      info_.attends_windows = info_.attends_softcap = true;
    });
    return info_;
  }

  std::unique_ptr<ComputeUnit> make_compute_unit() override {
    return std::make_unique<cpu::CpuComputeUnit>(team_, sparse_, note_);
  }

  std::unique_ptr<AttentionUnit> make_attention_unit(const AttentionUnitOptions& options) override {
    return std::make_unique<cpu::CpuAttentionUnit>(team_, options);
  }

  std::unique_ptr<SelectionUnit> make_selection_unit(const SelectionShape& shape) override {
    return cpu::make_selection_unit(shape);
  }

  std::unique_ptr<GradientMemory> make_gradient_memory() override {
    return cpu::make_gradient_memory();
  }

  std::unique_ptr<SparseUnit> make_sparse_unit() override {
    return std::make_unique<cpu::CpuSparseUnit>(threads_);
  }

  DeviceSpeed speed_now() override {
    if (!probe_) {
      probe_ = std::make_unique<cpu::ReadProbe>(
          team_, cpu::probe_bytes(kProbeBytes, available_memory().left_bytes));
    }
    return {probe_->measure(), cpu::measure_peak_ops(team_)};
  }

 private:
  ThreadPoolOptions threads_;
  cpu::Team team_;
  cpu::SparseMode sparse_;
  std::function<void(const std::string&)> note_;
  std::unique_ptr<cpu::ReadProbe> probe_;  // made when it is first needed
  mutable std::once_flag described_;
  mutable DeviceInfo info_;
};

class CpuBackend final : public Backend {
 public:
  std::string_view kind() const override { return "cpu"; }
  bool available() const override { return true; }
  std::string unavailable_reason() const override { return {}; }
  std::span<const BackendOption> options() const override { return cpu::kOptions; }

  std::vector<DeviceInfo> enumerate(const DeviceOptions& options) const override {
    return {CpuDevice(options).info()};
  }

  std::unique_ptr<Device> open(int index, const DeviceOptions& options) const override {
    if (index != 0) throw Error("cpu", "there is one CPU device, cpu:0, and no other");
    return std::make_unique<CpuDevice>(options);
  }
};

}  // namespace

const Backend& cpu_backend() {
  static const CpuBackend backend;
  return backend;
}

}  // namespace tandem::device
