// SPDX-License-Identifier: Apache-2.0
//
// Scalars that never change are set when a run is made; buffers and their sizes when they grow.
#include "xrt/launch.h"

#include <algorithm>
#include <bit>

#include "attention_decode/abi.h"
#include "xrt/kernel_image.h"

namespace tandem::device::xrt_card {
namespace {

constexpr std::size_t kSmallestBuffer = 4096;

std::uint32_t words(std::size_t bytes) {
  return static_cast<std::uint32_t>(bytes / attention_decode::kWordBytes);
}

// Queued or running: it may yet write to its buffers.
bool is_pending(ert_cmd_state state) {
  return state == ERT_CMD_STATE_NEW || state == ERT_CMD_STATE_QUEUED ||
         state == ERT_CMD_STATE_SUBMITTED || state == ERT_CMD_STATE_RUNNING;
}

}  // namespace

Launch::Launch(const xrt::device& device, std::span<const PooledUnit> units)
    : device_(device), units_(units), runs_(units.size()) {
  for (std::size_t i = 0; i < units.size(); ++i) {
    const PooledUnit& unit = units[i];
    xrt::run run(unit.kernel);
    run.set_arg(kKeyPool, unit.keys);
    run.set_arg(kValuePool, unit.values);
    run.set_arg(kPoolWords, unit.pool_words);
    run.set_arg(kHeadBegin, unit.share.head_begin);
    run.set_arg(kHeadCount, unit.share.head_count);
    run.set_arg(kSlice, unit.share.slice);
    run.set_arg(kNumSlices, unit.share.num_slices);
    runs_[i].run = std::move(run);
  }
}

void Launch::reserve(std::size_t descriptor_bytes, std::span<const std::size_t> result_bytes) {
  if (descriptor_bytes > descriptor_bytes_) grow_descriptor(descriptor_bytes);
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    runs_[i].selected = result_bytes[i] > 0;
    if (result_bytes[i] > runs_[i].capacity_bytes) grow_result(i, result_bytes[i]);
  }
}

void Launch::grow_descriptor(std::size_t bytes) {
  const std::size_t size = std::bit_ceil(std::max(bytes, kSmallestBuffer));
  descriptor_ = xrt::bo();  // gives the old one back first
  descriptor_ = xrt::bo(device_, size, units_[0].kernel.group_id(kDescriptor));
  descriptor_host_ = descriptor_.map<std::byte*>();
  descriptor_bytes_ = size;
  for (UnitRun& unit : runs_) {
    unit.run.set_arg(kDescriptor, descriptor_);
    unit.run.set_arg(kDescriptorWords, words(size));
  }
}

void Launch::grow_result(std::size_t index, std::size_t bytes) {
  UnitRun& unit = runs_[index];
  const std::size_t size = std::bit_ceil(std::max(bytes, kSmallestBuffer));
  unit.result = xrt::bo();
  unit.result = xrt::bo(device_, size, units_[index].kernel.group_id(kResult));
  unit.host = unit.result.map<std::byte*>();
  unit.capacity_bytes = size;
  unit.run.set_arg(kResult, unit.result);
  unit.run.set_arg(kResultWords, words(size));
}

void Launch::start(std::size_t descriptor_bytes) {
  descriptor_.sync(XCL_BO_SYNC_BO_TO_DEVICE, descriptor_bytes, 0);
  for (UnitRun& unit : runs_) {
    if (!unit.selected) continue;
    unit.run.start();
    unit.running = true;
  }
}

Launch::Progress Launch::poll() {
  Progress progress = Progress::kDone;
  for (UnitRun& unit : runs_) {
    if (!unit.running) continue;
    const ert_cmd_state state = unit.run.state();
    if (state == ERT_CMD_STATE_COMPLETED) {
      unit.running = false;
    } else if (!is_pending(state)) {
      progress = Progress::kFailed;
    } else if (progress == Progress::kDone) {
      progress = Progress::kRunning;
    }
  }
  return progress;
}

bool Launch::any_running() const {
  return std::ranges::any_of(
      runs_, [](const UnitRun& unit) { return unit.running && is_pending(unit.run.state()); });
}

void Launch::sleep(std::chrono::milliseconds at_most) {
  for (const UnitRun& unit : runs_) {
    if (!unit.running) continue;
    unit.run.wait(at_most);
    return;
  }
}

const std::byte* Launch::fetch(std::size_t index, std::size_t num_bytes) {
  runs_[index].result.sync(XCL_BO_SYNC_BO_FROM_DEVICE, num_bytes, 0);
  return runs_[index].host;
}

}  // namespace tandem::device::xrt_card
