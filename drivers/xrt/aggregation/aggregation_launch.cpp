// SPDX-License-Identifier: Apache-2.0
//
// Arguments are set again only when buffers grow.
#include "xrt/aggregation/aggregation_launch.h"

#include <algorithm>
#include <limits>

#include "sparse_aggregation/abi.h"
#include "xrt/aggregation/aggregation_image.h"

namespace tandem::device::xrt_card {
namespace {

std::uint32_t aggregation_words(std::size_t bytes) {
  return static_cast<std::uint32_t>(bytes / sparse_aggregation::kWordBytes);
}

}  // namespace

AggregationLaunch::AggregationLaunch(const xrt::device& device, std::vector<KernelUnit> units)
    : CardRuns(units.size()),
      device_(device),
      units_(std::move(units)),
      buffers_(units_.size()),
      memory_bytes_(std::numeric_limits<std::uint64_t>::max()) {
  for (std::size_t i = 0; i < units_.size(); ++i) {
    run(i) = xrt::run(units_[i].kernel);
    for (const int argument : {kAggregationDescriptor, kAggregationResult}) {
      memory_bytes_ = std::min(memory_bytes_, units_[i].memory_of(argument).size_bytes);
    }
  }
}

void AggregationLaunch::reserve(std::size_t unit, std::size_t input_bytes,
                                std::size_t result_bytes) {
  UnitBuffers& own = buffers_[unit];
  try {
    grow_both(unit, input_bytes, result_bytes);
  } catch (...) {
    own = {};  // the next call sets all arguments
    throw;
  }
}

void AggregationLaunch::grow_both(std::size_t unit, std::size_t input_bytes,
                                  std::size_t result_bytes) {
  const xrt::kernel& kernel = units_[unit].kernel;
  UnitBuffers& own = buffers_[unit];
  if (own.input.grow(device_, input_bytes, kernel.group_id(kAggregationDescriptor),
                     memory_bytes_)) {
    for (const int argument : {kAggregationDescriptor, kAggregationPositions, kAggregationValues}) {
      run(unit).set_arg(argument, own.input.buffer);
    }
    run(unit).set_arg(kAggregationDescriptorWords, aggregation_words(own.input.host.size()));
  }
  if (own.result.grow(device_, result_bytes, kernel.group_id(kAggregationResult), memory_bytes_)) {
    run(unit).set_arg(kAggregationResult, own.result.buffer);
    run(unit).set_arg(kAggregationResultWords, aggregation_words(own.result.host.size()));
  }
}

void AggregationLaunch::start(std::size_t unit, std::size_t input_bytes) {
  buffers_[unit].input.buffer.sync(XCL_BO_SYNC_BO_TO_DEVICE, input_bytes, 0);
  start_run(unit);
}

const std::byte* AggregationLaunch::fetch(std::size_t unit, std::size_t begin, std::size_t end) {
  MappedBuffer& result = buffers_[unit].result;
  if (begin < end) result.buffer.sync(XCL_BO_SYNC_BO_FROM_DEVICE, end - begin, begin);
  return result.host.data();
}

}  // namespace tandem::device::xrt_card
