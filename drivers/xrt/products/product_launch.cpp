// SPDX-License-Identifier: Apache-2.0
//
// Arguments are set again only when buffers change, but for the tag.
#include "xrt/products/product_launch.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "sparse_product/abi.h"
#include "xrt/products/product_image.h"

namespace tandem::device::xrt_card {
namespace {

std::uint32_t product_words(std::size_t bytes) {
  return static_cast<std::uint32_t>(bytes / sparse_product::kWordBytes);
}

}  // namespace

ProductLaunch::ProductLaunch(const xrt::device& device, std::vector<KernelUnit> units)
    : CardRuns(units.size()),
      device_(device),
      units_(std::move(units)),
      buffers_(units_.size()),
      matrix_memory_bytes_(std::numeric_limits<std::uint64_t>::max()),
      call_memory_bytes_(std::numeric_limits<std::uint64_t>::max()) {
  for (std::size_t i = 0; i < units_.size(); ++i) {
    run(i) = xrt::run(units_[i].kernel);
    matrix_memory_bytes_ =
        std::min(matrix_memory_bytes_, units_[i].memory_of(kProductMatrix).size_bytes);
    for (const int argument : {kProductVector, kProductResult}) {
      call_memory_bytes_ = std::min(call_memory_bytes_, units_[i].memory_of(argument).size_bytes);
    }
    const int group = units_[i].kernel.group_id(kProductVector);
    const auto known = std::ranges::find(vector_groups_, group);
    vector_of_.push_back(static_cast<std::size_t>(known - vector_groups_.begin()));
    if (known == vector_groups_.end()) vector_groups_.push_back(group);
  }
  vectors_.resize(vector_groups_.size());
}

std::uint32_t ProductLaunch::most_sharers() const {
  std::uint32_t most = 0;
  for (std::size_t vector = 0; vector < vectors_.size(); ++vector) {
    most = std::max(most, static_cast<std::uint32_t>(std::ranges::count(vector_of_, vector)));
  }
  return most;
}

void ProductLaunch::allocate(std::size_t unit, std::size_t matrix_bytes, std::size_t result_bytes) {
  const xrt::kernel& kernel = units_[unit].kernel;
  UnitBuffers& own = buffers_[unit];
  own = {};  // before the new ones, so that the memory has room
  own.matrix.allocate(device_, matrix_bytes, kernel.group_id(kProductMatrix));
  own.result.allocate(device_, result_bytes, kernel.group_id(kProductResult));
  for (const int argument : {kProductMatrix, kProductEntries}) {
    run(unit).set_arg(argument, own.matrix.buffer);
  }
  run(unit).set_arg(kProductResult, own.result.buffer);
  run(unit).set_arg(kProductMatrixWords, product_words(own.matrix.host.size()));
  run(unit).set_arg(kProductResultWords, product_words(own.result.host.size()));
}

void ProductLaunch::allocate_vectors(std::size_t bytes) {
  for (std::size_t i = 0; i < vectors_.size(); ++i) {
    vectors_[i] = {};
    vectors_[i].allocate(device_, bytes, vector_groups_[i]);
  }
  for (std::size_t unit = 0; unit < units_.size(); ++unit) {
    run(unit).set_arg(kProductVector, vectors_[vector_of_[unit]].buffer);
    run(unit).set_arg(kProductVectorWords, product_words(bytes));
  }
}

void ProductLaunch::send_matrix(std::size_t unit) {
  MappedBuffer& matrix = buffers_[unit].matrix;
  matrix.buffer.sync(XCL_BO_SYNC_BO_TO_DEVICE, matrix.host.size(), 0);
}

void ProductLaunch::send_vector(std::size_t vector, std::span<const std::byte> bytes) {
  MappedBuffer& own = vectors_[vector];
  std::memcpy(own.host.data(), bytes.data(), bytes.size());
  own.buffer.sync(XCL_BO_SYNC_BO_TO_DEVICE, bytes.size(), 0);
}

void ProductLaunch::start(std::size_t unit, std::uint32_t tag) {
  run(unit).set_arg(kProductTag, tag);
  start_run(unit);
}

const std::byte* ProductLaunch::fetch(std::size_t unit, std::size_t bytes) {
  MappedBuffer& result = buffers_[unit].result;
  result.buffer.sync(XCL_BO_SYNC_BO_FROM_DEVICE, bytes, 0);
  return result.host.data();
}

}  // namespace tandem::device::xrt_card
