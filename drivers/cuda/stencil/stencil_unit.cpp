// SPDX-License-Identifier: Apache-2.0
//
// Stencils on a GPU: all fields lie in one allocation, field by field, box by box.
//
// Rows begin at 128 bytes. What travels between host and device is dense and is spread by a kernel,
// through one staging array of the largest box. Threads: one at a time. A unit lost by a failure or
// a deadline leaks its memory, because work may still run.
#include <algorithm>
#include <string>

#include "common/error.h"
#include "cuda/backend.h"
#include "cuda/runtime/handles.h"
#include "stencil/box_step.h"

namespace tandem::cuda {
namespace {

using device::kNoField;
using device::StencilFields;
using device::StencilRule;
using device::StencilStage;
using tiling::Box;
using tiling::Point;

// Where the cells of a box with its ghost cells lie in a field, in values.
struct BoxPlace {
  Box<3> cells, grown;
  std::int64_t row_stride = 0, plane_stride = 0;
  std::int64_t begin = 0;  // of the first ghost cell in the field

  std::int64_t at(const Point<3>& point) const {
    return begin + (point[0] - grown.lower[0]) * plane_stride +
           (point[1] - grown.lower[1]) * row_stride + point[2] - grown.lower[2];
  }
};

constexpr std::int64_t kLineValues = 16;  // 128 bytes

std::int64_t whole_lines(std::int64_t values) {
  return (values + kLineValues - 1) / kLineValues * kLineValues;
}

std::uint32_t narrow_extent(std::int64_t extent) {
  if (extent > 0x7fffffff) throw Error("cuda", "a box has too many cells in one dimension");
  return static_cast<std::uint32_t>(extent);
}

gpu_kernels::BoxRule rule_of(StencilRule rule) {
  if (rule == StencilRule::kHeat) return gpu_kernels::BoxRule::kHeat;
  return rule == StencilRule::kJacobi ? gpu_kernels::BoxRule::kJacobi
                                      : gpu_kernels::BoxRule::kAdvection;
}

class CudaStencilUnit final : public device::StencilUnit {
 public:
  CudaStencilUnit(int device_index, const StencilFields& fields)
      : device_index_(device_index),
        name_("cuda:" + std::to_string(device_index)),
        ghosts_(fields.ghosts),
        num_fields_(fields.num_fields) {
    std::int64_t largest = 0;
    for (const Box<3>& box : fields.boxes) {
      BoxPlace place;
      place.cells = box;
      place.grown = box.grown(ghosts_);
      for (std::size_t d = 0; d < 3; ++d) narrow_extent(place.grown.extent(d));
      const std::int64_t before = whole_lines(ghosts_);  // the first cell begins a line
      place.row_stride = whole_lines(before - ghosts_ + place.grown.extent(2));
      place.plane_stride = place.row_stride * place.grown.extent(1);
      place.begin = field_values_ + before - ghosts_;
      field_values_ += whole_lines(before - ghosts_ + place.plane_stride * place.grown.extent(0));
      largest = std::max(largest, place.grown.size());
      places_.push_back(place);
    }
    values_.reserve(bytes_of(field_values_) * num_fields_);
    staged_.reserve(bytes_of(largest));
  }

  ~CudaStencilUnit() override {
    cudaSetDevice(device_index_);
    if (!lost_) return;
    values_.leak();
    staged_.leak();
  }

  std::string name() const override { return name_; }

  void write(std::size_t field, std::size_t box, std::span<const double> cells,
             Deadline deadline) override {
    const BoxPlace& place = begin_transfer(field, box, cells.size());
    start([&] {
      check(cudaMemcpyAsync(staged_.data(), cells.data(), cells.size_bytes(),
                            cudaMemcpyHostToDevice, stream_.get()),
            "copying a field to the GPU");
      gpu_kernels::CellCopy copy = dense_copy(place);
      copy.from = staged_.as<double>();
      copy.to = first(field) + place.begin;
      std::swap(copy.from_plane_stride, copy.to_plane_stride);
      std::swap(copy.from_row_stride, copy.to_row_stride);
      check(gpu_kernels::copy_cells(copy, stream_.get()), "spreading a field");
    });
    wait(deadline);
  }

  void read(std::size_t field, std::size_t box, std::span<double> cells,
            Deadline deadline) override {
    const BoxPlace& place = begin_transfer(field, box, cells.size());
    start([&] {
      gpu_kernels::CellCopy copy = dense_copy(place);
      copy.from = first(field) + place.begin;
      copy.to = staged_.as<double>();
      check(gpu_kernels::copy_cells(copy, stream_.get()), "gathering a field");
      check(cudaMemcpyAsync(cells.data(), staged_.data(), cells.size_bytes(),
                            cudaMemcpyDeviceToHost, stream_.get()),
            "copying a field from the GPU");
    });
    wait(deadline);
  }

  void copy_ghosts(std::size_t field, std::span<const tiling::CopyPiece<3>> pieces) override {
    begin_call();
    check_field(field);
    for (const tiling::CopyPiece<3>& piece : pieces) check_piece(piece);
    start([&] {
      for (const tiling::CopyPiece<3>& piece : pieces) {
        const BoxPlace &from = places_[piece.from], &to = places_[piece.to];
        gpu_kernels::CellCopy copy = extents_of(piece.region);
        copy.from = first(field) + from.at(piece.region.shifted(piece.shift).lower);
        copy.to = first(field) + to.at(piece.region.lower);
        copy.from_plane_stride = from.plane_stride;
        copy.from_row_stride = from.row_stride;
        copy.to_plane_stride = to.plane_stride;
        copy.to_row_stride = to.row_stride;
        check(gpu_kernels::copy_cells(copy, stream_.get()), "copying ghost cells");
      }
    });
  }

  void run(const StencilStage& stage) override {
    begin_call();
    check_stage(stage);
    start([&] {
      for (const BoxPlace& place : places_) {
        check(gpu_kernels::step_box(step_of(stage, place), rule_of(stage.rule), stream_.get()),
              "a stage of a stencil");
      }
    });
  }

  void triad(std::size_t a, std::size_t b, std::size_t c) override {
    begin_call();
    for (const std::size_t field : {a, b, c}) check_field(field);
    start([&] {
      check(gpu_kernels::triad(first(b), first(c), first(a),
                               static_cast<std::size_t>(field_values_), stream_.get()),
            "the triad");
    });
  }
  double triad_bytes() const override { return 3.0 * static_cast<double>(bytes_of(field_values_)); }

  void wait(Deadline deadline) override {
    begin_call();
    lost_ = true;  // reset once the work has succeeded
    done_.record(stream_);
    if (!done_.wait(deadline)) {
      throw DeviceError("cuda", name_ + " has not finished its stencils by the deadline");
    }
    lost_ = false;
  }

 private:
  static std::size_t bytes_of(std::int64_t values) {
    return static_cast<std::size_t>(values) * sizeof(double);
  }
  double* first(std::size_t field) const {
    return values_.as<double>() + static_cast<std::int64_t>(field) * field_values_;
  }

  void begin_call() {
    if (lost_) throw DeviceError("cuda", name_ + " was lost by an earlier failure");
    // Reports what failed since the last call, too.
    const cudaError_t error = cudaSetDevice(device_index_);
    lost_ = error != cudaSuccess;
    check(error, "choosing the device");
  }
  template <typename Work>
  void start(const Work& work) {
    lost_ = true;
    work();
    lost_ = false;
  }

  void check_field(std::size_t field) const {
    if (field >= num_fields_) {
      throw Error("cuda", "there is no field " + std::to_string(field) +
                              " of a stencil; there are " + std::to_string(num_fields_));
    }
  }
  const BoxPlace& begin_transfer(std::size_t field, std::size_t box, std::size_t cells) {
    begin_call();
    check_field(field);
    if (box >= places_.size()) {
      throw Error("cuda", "there is no box " + std::to_string(box) + " of a stencil; there are " +
                              std::to_string(places_.size()));
    }
    const auto size = static_cast<std::size_t>(places_[box].grown.size());
    if (cells != size) {
      throw Error("cuda", "a box has " + std::to_string(size) + " cells, and " +
                              std::to_string(cells) + " are given");
    }
    return places_[box];
  }
  void check_piece(const tiling::CopyPiece<3>& piece) const {
    if (piece.from < places_.size() && piece.to < places_.size() &&
        places_[piece.from].grown.contains(piece.region.shifted(piece.shift)) &&
        places_[piece.to].grown.contains(piece.region)) {
      return;
    }
    throw Error("cuda", "ghost cells are copied from or to cells that no box has");
  }
  void check_stage(const StencilStage& stage) const {
    for (const std::size_t field : {stage.source, stage.out}) check_field(field);
    if (stage.source == stage.out) throw Error("cuda", "a stage cannot write what it reads");
    if (stage.base != kNoField) check_field(stage.base);
    if (stage.rule == StencilRule::kJacobi) {
      for (const std::size_t field : {stage.conductivity, stage.heat_source}) check_field(field);
    }
    const int radius = gpu_kernels::box_radius(rule_of(stage.rule));
    if (radius <= ghosts_) return;
    throw Error("cuda", "the stencil reads " + std::to_string(radius) +
                            " ghost cells, and the fields have " + std::to_string(ghosts_));
  }

  static gpu_kernels::CellCopy extents_of(const Box<3>& box) {
    gpu_kernels::CellCopy copy;
    copy.planes = narrow_extent(box.extent(0));
    copy.rows = narrow_extent(box.extent(1));
    copy.columns = narrow_extent(box.extent(2));
    return copy;
  }
  // From a field to dense cells.
  static gpu_kernels::CellCopy dense_copy(const BoxPlace& place) {
    gpu_kernels::CellCopy copy = extents_of(place.grown);
    copy.from_plane_stride = place.plane_stride;
    copy.from_row_stride = place.row_stride;
    copy.to_plane_stride = place.grown.extent(1) * place.grown.extent(2);
    copy.to_row_stride = place.grown.extent(2);
    return copy;
  }

  gpu_kernels::BoxStep step_of(const StencilStage& stage, const BoxPlace& place) const {
    const std::int64_t cell = place.at(place.cells.lower);
    const auto at = [&](std::size_t field) { return first(field) + cell; };
    gpu_kernels::BoxStep step;
    step.source = at(stage.source);
    step.out = at(stage.out);
    if (stage.rule == StencilRule::kJacobi) {
      step.conductivity = at(stage.conductivity);
      step.heat_source = at(stage.heat_source);
    }
    if (stage.base != kNoField) step.base = at(stage.base);
    step.plane_stride = place.plane_stride;
    step.row_stride = place.row_stride;
    step.planes = narrow_extent(place.cells.extent(0));
    step.rows = narrow_extent(place.cells.extent(1));
    step.columns = narrow_extent(place.cells.extent(2));
    step.factors.rate = stage.factors.rate;
    std::ranges::copy(stage.factors.derivative, step.factors.derivative);
    std::ranges::copy(stage.factors.courant, step.factors.courant);
    step.factors.own = stage.factors.own;
    step.factors.of_base = stage.factors.of_base;
    return step;
  }

  const int device_index_;
  const std::string name_;
  const std::int64_t ghosts_;
  const std::size_t num_fields_;
  std::vector<BoxPlace> places_;
  std::int64_t field_values_ = 0;
  bool lost_ = false;
  Stream stream_;
  Event done_;
  DeviceBuffer values_, staged_;
};

}  // namespace

}  // namespace tandem::cuda

namespace tandem::device {

std::unique_ptr<StencilUnit> open_cuda_stencil_unit(int index, const StencilFields& fields) {
  const Backend& backend = cuda_backend();
  if (!backend.available()) throw Error("cuda", backend.unavailable_reason());
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) count = 0;
  if (index < 0 || index >= count) {
    throw Error("cuda", "there is no device cuda:" + std::to_string(index) + "; " +
                            std::to_string(count) + " found");
  }
  cuda::check(cudaSetDevice(index), "choosing the device");
  return std::make_unique<cuda::CudaStencilUnit>(index, fields);
}

}  // namespace tandem::device
