// SPDX-License-Identifier: Apache-2.0
//
// StencilUnit: fields of boxes in a device's memory, on which stages of stencils run. A tile is a
// whole box there.
//
// A field has one array for each box, with ghost cells around it. The host fills fields, then
// starts copies of ghost cells and stages, which run in the order of the calls, and waits.
// Numerics: f64, the operations of tensor/tiling/stencils in their order with fused multiply-add.
// Ownership: arguments are borrowed until the call returns. Threads: one at a time. Errors: Error,
// with nothing changed, for arguments that do not fit. DeviceError if memory is exhausted, work
// failed, or the deadline passed; the unit is then lost, and every later call fails at once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/deadline.h"
#include "tensor/tiling/copy_plan.h"

namespace tandem::device {

enum class StencilRule : std::uint8_t { kHeat, kJacobi, kAdvection };

struct StencilFactors {
  double rate = 0;                     // heat
  std::array<double, 4> derivative{};  // advection, by distance
  std::array<double, 3> courant{};     // advection, by dimension
  double own = 1;                      // of the cell itself; heat: 1 - 6 rate
  double of_base = 0;                  // advection
};

struct StencilFields {
  std::vector<tiling::Box<3>> boxes;  // without ghost cells
  std::int64_t ghosts = 0;
  std::size_t num_fields = 0;
};

constexpr std::size_t kNoField = ~std::size_t{0};

// Reads fields and writes the field `out`, which may be `base` but not `source`.
struct StencilStage {
  StencilRule rule = StencilRule::kHeat;
  StencilFactors factors;
  std::size_t source = 0, out = 1;
  std::size_t conductivity = kNoField, heat_source = kNoField;  // kJacobi
  std::size_t base = kNoField;                                  // kAdvection; may be absent
};

class StencilUnit {
 public:
  virtual ~StencilUnit() = default;
  virtual std::string name() const = 0;  // "cuda:0"

  // cells: [planes, rows, columns] of the box with its ghost cells.
  virtual void write(std::size_t field, std::size_t box, std::span<const double> cells,
                     Deadline deadline) = 0;
  virtual void read(std::size_t field, std::size_t box, std::span<double> cells,
                    Deadline deadline) = 0;

  // The following calls start work and do not wait.
  virtual void copy_ghosts(std::size_t field, std::span<const tiling::CopyPiece<3>> pieces) = 0;
  virtual void run(const StencilStage& stage) = 0;
  // a = b + 3 c over the arrays of three fields: the bandwidth with which stages are compared.
  virtual void triad(std::size_t a, std::size_t b, std::size_t c) = 0;
  virtual double triad_bytes() const = 0;

  virtual void wait(Deadline deadline) = 0;
};

// Opens a device that runs stencils ("cuda:0"). Error if it cannot; the text says why and what to
// do.
std::unique_ptr<StencilUnit> open_stencil_unit(std::string_view id, const StencilFields& fields);

}  // namespace tandem::device
