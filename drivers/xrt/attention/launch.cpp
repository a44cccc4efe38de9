// SPDX-License-Identifier: Apache-2.0
//
// Scalars that never change are set when a run is made; buffers and their sizes when they grow.
#include "xrt/attention/launch.h"

#include <algorithm>
#include <bit>

#include "attention_decode/abi.h"
#include "xrt/attention/kernel_image.h"

namespace tandem::device::xrt_card {
namespace {

std::uint32_t words(std::size_t bytes) {
  return static_cast<std::uint32_t>(bytes / attention_decode::kWordBytes);
}

}  // namespace

Launch::Launch(const xrt::device& device, std::span<const PooledUnit> units)
    : CardRuns(units.size()), device_(device), units_(units), results_(units.size()) {
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
    this->run(i) = std::move(run);
  }
}

void Launch::reserve(std::size_t descriptor_bytes, std::span<const std::size_t> result_bytes) {
  if (descriptor_bytes > descriptor_bytes_) grow_descriptor(descriptor_bytes);
  for (std::size_t i = 0; i < results_.size(); ++i) {
    results_[i].selected = result_bytes[i] > 0;
    if (result_bytes[i] > results_[i].capacity_bytes) grow_result(i, result_bytes[i]);
  }
}

void Launch::grow_descriptor(std::size_t bytes) {
  const std::size_t size = std::bit_ceil(std::max(bytes, kSmallestBufferBytes));
  descriptor_ = xrt::bo();  // frees the old one first
  descriptor_ = xrt::bo(device_, size, units_[0].kernel.group_id(kDescriptor));
  descriptor_host_ = descriptor_.map<std::byte*>();
  descriptor_bytes_ = size;
  for (std::size_t i = 0; i < units_.size(); ++i) {
    run(i).set_arg(kDescriptor, descriptor_);
    run(i).set_arg(kDescriptorWords, words(size));
  }
}

void Launch::grow_result(std::size_t index, std::size_t bytes) {
  UnitResult& result = results_[index];
  const std::size_t size = std::bit_ceil(std::max(bytes, kSmallestBufferBytes));
  result.buffer = xrt::bo();
  result.buffer = xrt::bo(device_, size, units_[index].kernel.group_id(kResult));
  result.host = result.buffer.map<std::byte*>();
  result.capacity_bytes = size;
  run(index).set_arg(kResult, result.buffer);
  run(index).set_arg(kResultWords, words(size));
}

void Launch::start(std::size_t descriptor_bytes) {
  descriptor_.sync(XCL_BO_SYNC_BO_TO_DEVICE, descriptor_bytes, 0);
  for (std::size_t i = 0; i < results_.size(); ++i) {
    if (results_[i].selected) start_run(i);
  }
}

const std::byte* Launch::fetch(std::size_t index, std::size_t num_bytes) {
  results_[index].buffer.sync(XCL_BO_SYNC_BO_FROM_DEVICE, num_bytes, 0);
  return results_[index].host;
}

}  // namespace tandem::device::xrt_card
