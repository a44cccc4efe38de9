// SPDX-License-Identifier: Apache-2.0
//
// x and y pass through pinned memory, so that transfers do not hold the caller up.
#include "cuda/sparse/sparse_unit.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "common/error.h"
#include "common/median.h"
#include "cuda/runtime/handles.h"
#include "sparse/row_products.h"

namespace tandem::cuda {
namespace {

using device::SparsePart;
using device::SparseRates;
using device::SparseRoomError;
using device::SparseRows;
using gpu_kernels::RowBegin;

constexpr std::uint64_t kMostSparseRows = std::numeric_limits<std::uint32_t>::max();

// The sum of a row in the order of dot_row() of gpu_kernels/sparse/row_products.cuh.
float warp_sum(const SparseRows& rows, std::uint64_t row, const float* x) {
  std::array<float, gpu_kernels::kWarpLanes> lanes{};
  const std::uint64_t begin = rows.begins[row], end = rows.begins[row + 1];
  for (std::uint64_t e = begin; e < end; ++e) {
    float& sum = lanes[(e - begin) % lanes.size()];
    sum = std::fma(rows.values[e], x[rows.indices[e]], sum);
  }
  for (std::size_t distance = 1; distance < lanes.size(); distance *= 2) {
    for (std::size_t lane = 0; lane < lanes.size(); lane += 2 * distance) {
      lanes[lane] += lanes[lane + distance];
    }
  }
  return lanes[0];
}

class CudaSparseUnit final : public device::SparseUnit {
 public:
  CudaSparseUnit(int device_index, const device::DeviceInfo& info)
      : device_index_(device_index), name_(info.id) {}

  ~CudaSparseUnit() override {
    cudaSetDevice(device_index_);
    if (!lost_) return;
    for (DeviceBuffer* each : {&begins_, &indices_, &values_, &x_, &y_}) each->leak();
    for (PinnedBuffer* each : {&host_x_, &host_y_}) each->leak();
  }

  std::string name() const override { return name_; }

  // A product with one row tells what every product takes.
  SparseRates rates(const SparseRows& matrix, Deadline deadline) override {
    SparseRates rates;
    if (matrix.rows() > 0) {
      load(matrix.slice(0, 1), deadline);
      rates.fixed_s = seconds_of_product(deadline);
    }
    load(matrix, deadline);
    const double whole = seconds_of_product(deadline);
    rates.fixed_s = std::min(rates.fixed_s, 0.99 * whole);
    const auto work = static_cast<double>(matrix.rows() + matrix.entries());
    rates.row_s = rates.entry_s = (whole - rates.fixed_s) / std::max(work, 1.0);
    return rates;
  }

  void load(const SparseRows& rows, Deadline deadline) override {
    begin_call();
    const std::uint64_t entries = rows.entries();
    check_room(rows);
    rows_ = columns_ = entries_ = 0;
    std::vector<RowBegin> begins(rows.begins.begin(), rows.begins.end());
    const std::uint64_t first = begins.empty() ? 0 : begins.front();
    for (RowBegin& begin : begins) begin -= first;
    reserve(rows);
    run([&] {
      copy(begins_.data(), begins.data(), begins.size() * sizeof(RowBegin), cudaMemcpyHostToDevice);
      copy(indices_.data(), rows.indices + first, entries * 4, cudaMemcpyHostToDevice);
      copy(values_.data(), rows.values + first, entries * 4, cudaMemcpyHostToDevice);
      done_.record(stream_);
      wait(deadline, "a matrix");
    });
    rows_ = rows.rows();
    columns_ = rows.columns;
    entries_ = entries;
  }

  void start(std::span<const float> x, Deadline) override {
    begin_call();
    TANDEM_CHECK_OP(x.size(), ==, columns_);
    started_ = std::chrono::steady_clock::now();
    run([&] {
      std::ranges::copy(x, host_x_.as<float>());
      copy(x_.data(), host_x_.data(), x.size_bytes(), cudaMemcpyHostToDevice);
      gpu_kernels::RowSums job;
      job.begins = begins_.as<RowBegin>();
      job.indices[0] = indices_.as<unsigned>();
      job.values = values_.data();
      job.factors[0] = x_.as<float>();
      job.rows = static_cast<unsigned>(rows_);
      job.out = y_.as<float>();
      check(gpu_kernels::dot_rows(job, gpu_kernels::ValueType::kF32, stream_.get()),
            "a sparse product");
      copy(host_y_.data(), y_.data(), rows_ * sizeof(float), cudaMemcpyDeviceToHost);
      done_.record(stream_);
    });
  }

  std::vector<SparsePart> finish(std::span<float> y, Deadline deadline) override {
    begin_call();
    TANDEM_CHECK_OP(y.size(), ==, rows_);
    run([&] { wait(deadline, "a sparse product"); });
    std::copy_n(host_y_.as<float>(), y.size(), y.begin());
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - started_;
    return {{name_, 0, rows_, entries_, 0, false, passed.count(), ""}};
  }

  void on_host(const SparseRows& rows, std::span<const float> x,
               std::span<float> y) const override {
    TANDEM_CHECK_OP(y.size(), ==, rows.rows());
    for (std::uint64_t row = 0; row < y.size(); ++row) y[row] = warp_sum(rows, row, x.data());
  }

 private:
  // Memory that the unit has already counts as free.
  void check_room(const SparseRows& rows) const {
    std::size_t free_bytes = bytes_free();
    for (const DeviceBuffer* each : {&begins_, &indices_, &values_, &x_, &y_}) {
      free_bytes += each->size_bytes();
    }
    const std::uint64_t needed = rows.begins.size_bytes() + rows.entries() * 8 +
                                 (rows.rows() + rows.columns) * sizeof(float);
    if (needed <= free_bytes && rows.rows() <= kMostSparseRows) return;
    throw SparseRoomError(
        "cuda", "these rows need " + std::to_string(needed) + " bytes on " + name_ + ", where " +
                    std::to_string(free_bytes) +
                    " are free, and at most 2^32 - 1 rows are possible: use more devices");
  }

  static std::size_t bytes_free() {
    std::size_t free_bytes = 0, total_bytes = 0;
    check(cudaMemGetInfo(&free_bytes, &total_bytes), "asking for free memory");
    return free_bytes;
  }

  // Others may take what was free. A GPU that still answers is short of memory, and not lost.
  void reserve(const SparseRows& rows) {
    const std::uint64_t entries = rows.entries();
    try {
      begins_.reserve(rows.begins.size() * sizeof(RowBegin));
      indices_.reserve(entries * sizeof(std::int32_t));
      values_.reserve(entries * sizeof(float));
      x_.reserve(rows.columns * sizeof(float));
      y_.reserve(rows.rows() * sizeof(float));
      host_x_.reserve(rows.columns * sizeof(float));
      host_y_.reserve(rows.rows() * sizeof(float));
    } catch (const DeviceError& error) {
      begin_call();
      bytes_free();
      throw SparseRoomError(
          "cuda", "these rows do not fit beside what else is on " + name_ + ": " + error.what());
    }
  }

  void begin_call() {
    if (lost_) throw DeviceError("cuda", name_ + " was lost for products by an earlier failure");
    const cudaError_t error = cudaSetDevice(device_index_);
    lost_ = error != cudaSuccess;
    check(error, "choosing the device");
  }

  template <typename Work>
  void run(const Work& work) {
    lost_ = true;  // until it has succeeded
    work();
    lost_ = false;
  }

  void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    if (bytes == 0) return;
    check(cudaMemcpyAsync(to, from, bytes, kind, stream_.get()), "copying for a sparse product");
  }

  void wait(Deadline deadline, const char* what) {
    if (done_.wait(deadline)) return;
    throw DeviceError("cuda", name_ + " has not finished by the deadline: " + what);
  }

  double seconds_of_product(Deadline deadline) {
    constexpr int kProducts = 5;
    const std::vector<float> x(columns_, 1.0f);
    std::vector<float> y(rows_);
    std::vector<double> times;
    for (int i = 0; i <= kProducts; ++i) {
      start(x, deadline);
      const double seconds = finish(y, deadline).front().host_s;
      if (i > 0) times.push_back(seconds);  // the first one loads the kernel
    }
    return median(times);
  }

  const int device_index_;
  const std::string name_;
  std::uint64_t rows_ = 0, columns_ = 0, entries_ = 0;
  std::chrono::steady_clock::time_point started_;
  bool lost_ = false;
  Stream stream_;
  Event done_;
  DeviceBuffer begins_, indices_, values_, x_, y_;
  PinnedBuffer host_x_, host_y_;
};

}  // namespace

std::unique_ptr<device::SparseUnit> make_sparse_unit(int device_index,
                                                     const device::DeviceInfo& info) {
  check(cudaSetDevice(device_index), "choosing the device");
  return std::make_unique<CudaSparseUnit>(device_index, info);
}

}  // namespace tandem::cuda
