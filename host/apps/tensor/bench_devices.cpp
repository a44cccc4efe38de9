// SPDX-License-Identifier: Apache-2.0
//
// A sparse matrix times a vector over several devices: opened, loaded once, measured, and compared
// with sums in f64.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "apps/emulated_cards.h"
#include "apps/tensor/bench_kernels.h"
#include "common/error.h"
#include "device/registry.h"
#include "tensor/sparse/generate/random_subset.h"
#include "tensor/sparse/kernels/row_matrix.h"

namespace tandem::apps {
namespace {

constexpr std::chrono::minutes kPatience{10};  // with each load and each product

Deadline next_deadline() { return Deadline::after(kPatience); }

// The greatest difference of a row from its sum in f64, as a part of the sum of magnitudes;
// infinite for a row that is not a number, although its sum is.
double error_of(const sparse::RowMatrix<float>& matrix, std::span<const float> x,
                std::span<const float> y) {
  double worst = 0;
  for (std::uint64_t row = 0; row < matrix.rows; ++row) {
    double sum = 0, size = 0;
    for (std::uint64_t e = matrix.begins[row]; e < matrix.begins[row + 1]; ++e) {
      const double term = static_cast<double>(matrix.values[e]) *
                          static_cast<double>(x[static_cast<std::size_t>(matrix.indices[e])]);
      sum += term;
      size += std::abs(term);
    }
    if (std::isnan(y[row]) && !std::isnan(sum)) return std::numeric_limits<double>::infinity();
    const double difference = std::abs(static_cast<double>(y[row]) - sum);
    if (difference > 0) worst = std::max(worst, difference / size);
  }
  return worst;
}

// Two units of one device would replace each other's kernel, or take the same processors.
void check_names(const std::vector<std::string>& ids) {
  std::vector<std::string> names;
  for (const std::string& id : ids) {
    names.push_back(device::full_id(id));
    if (std::ranges::count(names, names.back()) < 2) continue;
    throw Error("tensor", "--devices names " + names.back() + " twice; name each device once");
  }
}

struct SharedProduct {
  explicit SharedProduct(const TensorBenchOptions& o) {
    std::vector<std::unique_ptr<device::SparseUnit>> units;
    for (const std::string& id : o.devices) {
      devices.push_back(device::open_device(id, {.num_threads = o.threads}));
      units.push_back(device::make_sparse_unit(*devices.back()));
    }
    all = device::share_sparse_rows(std::move(units));
  }

  std::vector<std::unique_ptr<device::Device>> devices;
  std::unique_ptr<device::SparseUnit> all;
};

// Keeps the devices until it is told, because they wait for calls that have not returned.
class ErrorOfDevices final : public DeviceError {
 public:
  ErrorOfDevices(const DeviceError& error, std::shared_ptr<void> devices)
      : DeviceError(error), devices_(std::move(devices)) {}

 private:
  std::shared_ptr<void> devices_;
};

KernelTimes time_product(const TensorBenchOptions& o, const sparse::CooTensor& tensor,
                         const std::shared_ptr<SharedProduct>& shared, ThreadPool& pool) {
  KernelTimes times;
  times.devices = shared;
  device::SparseUnit* const all = shared->all.get();
  const Stopwatch building;
  const auto owner =
      std::make_shared<const sparse::RowMatrix<float>>(sparse::row_matrix<float>(tensor, pool));
  const sparse::RowMatrix<float>& matrix = *owner;
  all->load({matrix.columns, matrix.begins, matrix.indices.data(), matrix.values.data(), owner},
            next_deadline());
  times.build_ms = building.ms();
  sparse::Random random(1);
  std::vector<float> x(matrix.columns), y(matrix.rows);
  for (float& value : x) value = static_cast<float>(random.uniform());
  times.ms = median_ms(o.seconds, [&] {
    const Deadline deadline = next_deadline();
    all->start(x, deadline);
    times.parts = all->finish(y, deadline);
  });
  times.error = error_of(matrix, x, y);
  times.bytes = matrix.size_bytes() + (x.size() + y.size()) * sizeof(float);
  times.method = "rows";
  for (const device::SparsePart& part : times.parts) {
    const double rows = static_cast<double>(part.last_row - part.first_row);
    times.method +=
        (part.first_row == 0 ? " on " : ", ") +
        std::string(part.host_reason.empty() ? "" : "the host for ") + part.device + " " +
        std::to_string(std::llround(100 * rows / static_cast<double>(matrix.rows))) + " %";
  }
  return times;
}

}  // namespace

KernelTimes time_on_devices(const TensorBenchOptions& o, const sparse::CooTensor& tensor,
                            ThreadPool& pool) {
  check_names(o.devices);
  provide_cards(o.devices, [](const std::string& text) { spdlog::warn("{}", text); });
  const auto shared = std::make_shared<SharedProduct>(o);
  try {
    return time_product(o, tensor, shared, pool);
  } catch (const DeviceError& error) {
    throw ErrorOfDevices(error, shared);
  }
}

}  // namespace tandem::apps
