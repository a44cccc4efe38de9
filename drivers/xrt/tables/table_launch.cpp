// SPDX-License-Identifier: Apache-2.0
//
// Arguments are set again only when buffers change.
#include "xrt/tables/table_launch.h"

#include <algorithm>
#include <limits>

#include "embedding_update/abi.h"
#include "xrt/tables/table_image.h"

namespace tandem::device::xrt_card {
namespace {

std::uint32_t table_words(std::size_t bytes) {
  return static_cast<std::uint32_t>(bytes / embedding_update::kWordBytes);
}

}  // namespace

TableLaunch::TableLaunch(const xrt::device& device, std::vector<KernelUnit> units)
    : CardRuns(units.size()),
      device_(device),
      units_(std::move(units)),
      buffers_(units_.size()),
      table_memory_bytes_(std::numeric_limits<std::uint64_t>::max()),
      call_memory_bytes_(std::numeric_limits<std::uint64_t>::max()) {
  for (std::size_t i = 0; i < units_.size(); ++i) {
    run(i) = xrt::run(units_[i].kernel);
    table_memory_bytes_ = std::min(table_memory_bytes_, units_[i].memory_of(kTableIn).size_bytes);
    for (const int argument : {kTableInput, kTableResult}) {
      call_memory_bytes_ = std::min(call_memory_bytes_, units_[i].memory_of(argument).size_bytes);
    }
  }
}

void TableLaunch::allocate_tables(std::size_t bytes) {
  for (std::size_t i = 0; i < units_.size(); ++i) {
    MappedBuffer& table = buffers_[i].table;
    table.allocate(device_, bytes, units_[i].kernel.group_id(kTableIn));
    run(i).set_arg(kTableIn, table.buffer);
    run(i).set_arg(kTableOut, table.buffer);
    run(i).set_arg(kTableWords, table_words(bytes));
  }
}

void TableLaunch::send_table(std::size_t unit) {
  MappedBuffer& table = buffers_[unit].table;
  table.buffer.sync(XCL_BO_SYNC_BO_TO_DEVICE, table.host.size(), 0);
}

void TableLaunch::reserve(std::size_t unit, std::size_t input_bytes, std::size_t result_bytes) {
  const xrt::kernel& kernel = units_[unit].kernel;
  UnitBuffers& own = buffers_[unit];
  if (own.input.grow(device_, input_bytes, kernel.group_id(kTableInput), call_memory_bytes_)) {
    run(unit).set_arg(kTableInput, own.input.buffer);
    run(unit).set_arg(kTableInputWords, table_words(own.input.host.size()));
  }
  if (own.result.grow(device_, result_bytes, kernel.group_id(kTableResult), call_memory_bytes_)) {
    run(unit).set_arg(kTableResult, own.result.buffer);
    run(unit).set_arg(kTableResultWords, table_words(own.result.host.size()));
  }
}

void TableLaunch::start(std::size_t unit, std::size_t input_bytes) {
  buffers_[unit].input.buffer.sync(XCL_BO_SYNC_BO_TO_DEVICE, input_bytes, 0);
  start_run(unit);
}

const std::byte* TableLaunch::fetch(std::size_t unit, std::size_t bytes) {
  MappedBuffer& result = buffers_[unit].result;
  result.buffer.sync(XCL_BO_SYNC_BO_FROM_DEVICE, bytes, 0);
  return result.host.data();
}

}  // namespace tandem::device::xrt_card
