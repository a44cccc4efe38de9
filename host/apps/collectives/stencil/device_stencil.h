// SPDX-License-Identifier: Apache-2.0
//
// DeviceStencil: runs a stencil on a device that has a stencil unit; a tile is a whole box there.
//
// The same boxes, values and steps as StencilSolver of one rank. Ghost cells are copied between
// boxes on the device. Results have the bits of a CPU with fused multiply-add. run_step() and
// triad() start work; wait() waits. Ownership: borrows the pool, which fills and sums fields.
// Threads: one caller. Errors: those of StencilUnit and of the layout.
#pragma once

#include <chrono>
#include <memory>
#include <string_view>

#include "common/thread_pool.h"
#include "device/stencil_unit.h"
#include "tensor/tiling/stencils/stencil_solver.h"

namespace tandem::apps {

class DeviceStencil {
 public:
  // timeout: of every wait.
  DeviceStencil(tiling::StencilKind kind, const tiling::StencilOptions& options,
                std::string_view device, std::chrono::milliseconds timeout, ThreadPool& pool);

  const tiling::Stencil& stencil() const { return stencil_; }

  void reset();  // the values before the first step
  void run_step();
  // Overwrites a field of values: call reset() before the next step that counts.
  void triad() { unit_->triad(0, 1, 2); }
  double triad_bytes() const { return unit_->triad_bytes(); }
  void wait() { unit_->wait(deadline()); }
  std::uint64_t checksum();

 private:
  using Box = tiling::Box<3>;
  using CellValue = double (*)(const tiling::Point<3>&);

  Deadline deadline() const { return Deadline::after(timeout_); }
  void fill(std::size_t field, CellValue inside, double outside);

  tiling::Stencil stencil_;
  std::chrono::milliseconds timeout_;
  ThreadPool& pool_;
  std::shared_ptr<const tiling::Layout<3>> layout_;
  tiling::CopyPlan<3> ghosts_;
  std::vector<std::size_t> values_;  // fields: [2], rk3 [3]; the first has the values
  std::size_t coefficients_ = 0;     // jacobi: the field of conductivity; the next: heat source
  std::unique_ptr<device::StencilUnit> unit_;
};

}  // namespace tandem::apps
