// SPDX-License-Identifier: Apache-2.0
//
// A card that fails while a matrix is loaded is lost as well: its memory holds neither the old nor
// the new one.
#include "xrt/products/product_unit.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstring>

#include "common/error.h"
#include "xrt/products/product_sums.h"

namespace tandem::device::xrt_card {
namespace {

namespace product_abi = sparse_product;

// Empty when the result answers the call; else what is wrong.
std::string product_fault(const product_abi::ResultHeader& header, std::uint32_t tag,
                          std::uint32_t rows) {
  if (header.magic != product_abi::kMagic) return "the kernel returned no result header";
  if (header.abi_version != product_abi::kAbiVersion) {
    return "the kernel image speaks version " + std::to_string(header.abi_version) +
           " of the matrix, this program version " + std::to_string(product_abi::kAbiVersion) +
           ": build both from the same sources";
  }
  if (header.tag != tag) return "the kernel returned the result of an earlier call";
  if (header.status != product_abi::kOk) {
    return "the kernel refused its matrix: status " + std::to_string(header.status) + ", detail " +
           std::to_string(header.detail);
  }
  if (header.num_words != product_abi::result_words(rows))
    return "the kernel's result has a wrong length";
  return "";
}

std::size_t vector_bytes(std::uint64_t columns) {
  return std::size_t{product_abi::value_words(static_cast<std::uint32_t>(columns))} *
         product_abi::kWordBytes;
}

}  // namespace

XrtSparseUnit::XrtSparseUnit(const xrt::device& device, std::vector<KernelUnit> units,
                             const DeviceInfo& info)
    : name_(info.id) {
  auto launch = std::make_unique<ProductLaunch>(device, std::move(units));
  launch_ = launch.get();
  card_.launches.push_back(std::move(launch));
  model_.num_units = launch_->num_units();
  model_.num_vectors = launch_->num_vectors();
  model_.sharers = launch_->most_sharers();
  model_.timing.link_bandwidth_bytes_per_s = info.link_bandwidth_bytes_per_s;
}

void XrtSparseUnit::lose(const std::string& reason) {
  if (!lost_) {
    lost_ = true;
    lost_reason_ = reason;
    spdlog::error("[xrt] card {} lost for products: {}", name_, reason);
  }
  throw DeviceError("xrt", "card " + name_ + " is lost for products: " + lost_reason_);
}

template <typename Call>
void XrtSparseUnit::guard(const Call& call) {
  if (lost_) lose(lost_reason_);
  try {
    call();
  } catch (const DeviceError&) {
    throw;
  } catch (const std::exception& e) {
    lose(e.what());
  }
}

SparseRates XrtSparseUnit::rates(const SparseRows& matrix, Deadline) {
  return product_rates(matrix, model_);
}

void XrtSparseUnit::load(const SparseRows& rows, Deadline deadline) {
  const std::vector<ProductUnitPlan> plans = plan_product(rows, launch_->num_units());
  std::size_t matrix = 0, call = vector_bytes(rows.columns);
  for (const ProductUnitPlan& plan : plans) {
    matrix = std::max(matrix, plan.matrix_bytes);
    call = std::max(call, plan.result_bytes);
  }
  const std::uint64_t room = launch_->matrix_memory_bytes() / 16 * 15;
  if (matrix > room || call > launch_->call_memory_bytes() / 16 * 15) {
    throw SparseRoomError("xrt", "these rows need " + std::to_string(std::max(matrix, call)) +
                                     " bytes in a memory of card " + name_ + ", which has " +
                                     std::to_string(room) + ": use more cards");
  }
  guard([&] {
    if (!plans.empty()) launch_->allocate_vectors(vector_bytes(rows.columns));
    parts_.clear();
    for (std::size_t unit = 0; unit < plans.size(); ++unit) {
      if (deadline.expired()) lose("the matrix was not loaded before the deadline");
      const ProductUnitPlan& plan = plans[unit];
      launch_->allocate(unit, plan.matrix_bytes, plan.result_bytes);
      pack_matrix(plan, launch_->matrix(unit).first(plan.matrix_bytes));
      launch_->send_matrix(unit);
      parts_.push_back(
          {unit, plan.first_row, static_cast<std::uint32_t>(plan.rows.rows()), plan.result_bytes});
    }
  });
  rows_ = rows.rows();
  columns_ = rows.columns;
  entries_ = rows.entries();
  modelled_s_ = modelled_seconds(plans, model_);
}

void XrtSparseUnit::start(std::span<const float> x, Deadline) {
  TANDEM_CHECK_OP(x.size(), ==, columns_);
  started_ = std::chrono::steady_clock::now();
  guard([&] {
    ++tag_;
    for (std::size_t vector = 0; vector < launch_->num_vectors(); ++vector) {
      const auto reads = [&](const LoadedPart& part) {
        return launch_->vector_of(part.unit) == vector;
      };
      if (std::ranges::none_of(parts_, reads)) continue;
      launch_->send_vector(vector, std::as_bytes(x));
      for (const LoadedPart& part : parts_) {
        if (reads(part)) launch_->start(part.unit, tag_);
      }
    }
  });
}

void XrtSparseUnit::take_result(const LoadedPart& part, std::span<float> y) {
  const std::byte* result = launch_->fetch(part.unit, part.result_bytes);
  product_abi::ResultHeader header;
  std::memcpy(&header, result, sizeof header);
  const std::string fault = product_fault(header, tag_, part.num_rows);
  if (!fault.empty()) lose(fault);
  std::memcpy(y.data() + part.first_row, result + product_abi::kWordBytes,
              part.num_rows * sizeof(float));
}

std::vector<SparsePart> XrtSparseUnit::finish(std::span<float> y, Deadline deadline) {
  TANDEM_CHECK_OP(y.size(), ==, rows_);
  guard([&] {
    const CardRuns::Progress progress = launch_->wait(deadline);
    if (progress == CardRuns::Progress::kRunning) lose("no answer before the deadline");
    if (progress == CardRuns::Progress::kFailed) lose("a command ended in an error state");
    for (const LoadedPart& part : parts_) take_result(part, y);
  });
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - started_;
  return {{name_, 0, rows_, entries_, modelled_s_, true, passed.count(), ""}};
}

void XrtSparseUnit::on_host(const SparseRows& rows, std::span<const float> x,
                            std::span<float> y) const {
  product_rows_on_host(rows, x, y);
}

}  // namespace tandem::device::xrt_card
