// SPDX-License-Identifier: Apache-2.0
//
// XrtSparseUnit: a sparse matrix in the memories of a PCIe FPGA card, multiplied by its compute
// units.
//
// Units have ranges of rows (product_plan.h). A product sends the vector to each of its memories
// and starts the units that read it there, while the vector goes to the next memory; then one
// transfer back from each. Predicted times are those of a real card, not of the emulated one: the
// transfers over its link one after the other, plus the slowest unit by the kernel's cycle model.
// Order of the sums: that of the kernel's abi.h. Errors: as SparseUnit; the card is lost when XRT
// throws, a command fails, a result does not match its call, or the deadline passes. Threads: one.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "device/device.h"
#include "device/sparse_unit.h"
#include "xrt/card/abandoned.h"
#include "xrt/products/product_launch.h"
#include "xrt/products/product_plan.h"

namespace tandem::device::xrt_card {

class XrtSparseUnit final : public SparseUnit {
 public:
  XrtSparseUnit(const xrt::device& device, std::vector<KernelUnit> units, const DeviceInfo& info);

  std::string name() const override { return name_; }
  SparseRates rates(const SparseRows& matrix, Deadline deadline) override;
  void load(const SparseRows& rows, Deadline deadline) override;
  void start(std::span<const float> x, Deadline deadline) override;
  std::vector<SparsePart> finish(std::span<float> y, Deadline deadline) override;
  void on_host(const SparseRows& rows, std::span<const float> x, std::span<float> y) const override;

 private:
  // A unit's rows, without those of the caller's arrays.
  struct LoadedPart {
    std::size_t unit = 0;
    std::uint64_t first_row = 0;
    std::uint32_t num_rows = 0;
    std::size_t result_bytes = 0;
  };

  template <typename Call>
  void guard(const Call& call);
  void take_result(const LoadedPart& part, std::span<float> y);
  [[noreturn]] void lose(const std::string& reason);

  std::string name_;
  DrainedBuffers card_;  // its destructor also runs if the constructor throws
  ProductLaunch* launch_ = nullptr;
  ProductCard model_;
  std::uint64_t rows_ = 0, columns_ = 0, entries_ = 0;
  double modelled_s_ = 0;
  std::vector<LoadedPart> parts_;
  std::chrono::steady_clock::time_point started_;
  std::uint32_t tag_ = 0;
  bool lost_ = false;
  std::string lost_reason_;
};

}  // namespace tandem::device::xrt_card
