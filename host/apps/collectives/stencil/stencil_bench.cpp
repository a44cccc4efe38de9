// SPDX-License-Identifier: Apache-2.0
//
// All ranks choose alike, because they compare times of all.
#include "apps/collectives/stencil/stencil_bench.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <functional>

#include "apps/collectives/stencil/device_stencil.h"
#include "common/available_memory.h"
#include "common/error.h"
#include "tensor/tiling/rank_reduction.h"
#include "tensor/tiling/stencils/memory_triad.h"

namespace tandem::apps {
namespace {

using tiling::Point;

constexpr std::int64_t kAll = std::int64_t{1} << 20;  // to the end of a box
constexpr int kTuningRuns = 2;
// Values of an array of the triad.
constexpr std::int64_t kLeastTriad = std::int64_t{1} << 22, kMostTriad = std::int64_t{1} << 26;

constexpr std::array kSweepTiles{Point<3>{8, 8, kAll},      Point<3>{64, 16, kAll},
                                 Point<3>{kAll, 16, kAll},  Point<3>{kAll, 32, kAll},
                                 Point<3>{kAll, 64, kAll},  Point<3>{kAll, 80, kAll},
                                 Point<3>{kAll, 200, kAll}, Point<3>{1, kAll, kAll}};
constexpr std::array kPassTiles{Point<3>{kAll, 16, kAll}, Point<3>{kAll, 32, kAll},
                                Point<3>{kAll, 64, kAll}, Point<3>{kAll, 128, kAll}};

// A field's size, but more than caches hold, and no more than measures well.
std::int64_t triad_length(const StencilCommandOptions& o) {
  const std::int64_t cells = o.cells;
  return std::clamp(cells * cells * cells, kLeastTriad, kMostTriad);
}

class Measurement {
 public:
  Measurement(const StencilCommandOptions& options, tiling::Courier* courier, ThreadPool& pool)
      : options_(options),
        courier_(courier),
        pool_(pool),
        solver_(stencil_kind(options.stencil), solver_options(options), courier, pool) {}

  StencilResult run() {
    StencilResult result;
    result.pass_steps = solver_options(options_).pass_steps;
    const int group = std::max(result.pass_steps, 1);
    result.steps = (options_.steps + group - 1) / group * group;
    choose_sweep(result.sweep);
    measure_sweep(result);
    if (result.pass_steps > 0) measure_pass(result);
    return result;
  }

 private:
  // The time from all ranks' start to all ranks' end.
  double seconds(const std::function<void()>& work) {
    barrier();
    const auto begin = std::chrono::steady_clock::now();
    work();
    barrier();
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
    return tiling::reduce_ranks(courier_, passed.count(),
                                [](double a, double b) { return std::max(a, b); });
  }
  void barrier() { tiling::reduce_ranks(courier_, 0, std::plus<>()); }

  double best_of(int runs, const std::function<void()>& work) {
    work();  // pages and caches
    double best = seconds(work);
    for (int i = 1; i < runs; ++i) best = std::min(best, seconds(work));
    return best;
  }

  double speed_of(double step_s) const {
    const double cells = static_cast<double>(solver_.values().layout().domain.size());
    return cells * solver_.stencil().step_bytes() / step_s / 1e9;
  }

  // The kind of stores first, with the first tile; then the tile.
  void choose_sweep(StencilSpeed& sweep) {
    const auto given = tile_of(options_.tile, "--tile");
    sweep.is_tuned = !given;
    sweep.tile = given.value_or(kSweepTiles[0]);
    const double streaming = sweep_seconds(sweep.tile, true);
    double best = sweep_seconds(sweep.tile, false);
    sweep.streams = streaming < best;
    best = std::min(best, streaming);
    for (std::size_t i = 1; !given && i < kSweepTiles.size(); ++i) {
      const double time = sweep_seconds(kSweepTiles[i], sweep.streams);
      if (time >= best) continue;
      best = time;
      sweep.tile = kSweepTiles[i];
    }
    solver_.set_sweep(sweep.tile, sweep.streams);
    solver_.reset();
  }
  double sweep_seconds(const Point<3>& tile, bool streams) {
    solver_.set_sweep(tile, streams);
    return best_of(kTuningRuns, [this] { solver_.run_step(); });
  }

  void measure_sweep(StencilResult& result) {
    tiling::MemoryTriad triad(static_cast<std::size_t>(triad_length(options_) / options_.ranks),
                              pool_);
    const double triad_bytes = triad.bytes() * options_.ranks,
                 copy_bytes = triad.copy_bytes() * options_.ranks;
    for (int step = 0; step < result.steps; ++step) {
      for (const bool streams : {true, false}) {
        const double copied = copy_bytes / seconds([&] { triad.copy(streams); }) / 1e9;
        result.copy_gb_per_s = std::max(result.copy_gb_per_s, copied);
        const double speed = triad_bytes / seconds([&] { triad.run(streams); }) / 1e9;
        if (speed <= result.triad_gb_per_s) continue;
        result.triad_gb_per_s = speed;
        result.triad_streams = streams;
      }
      const double time = seconds([this] { solver_.run_step(); });
      if (step == 0 || time < result.sweep.step_s) result.sweep.step_s = time;
    }
    result.sweep.gb_per_s = speed_of(result.sweep.step_s);
    result.checksum = solver_.checksum();
  }

  void choose_pass(StencilSpeed& pass) {
    const auto given = tile_of(options_.pass_tile, "--fused-tile");
    pass.is_tuned = !given;
    if (given) {
      pass.tile = *given;
    } else {
      double best = 0;
      for (const Point<3>& tile : kPassTiles) {
        solver_.set_pass_tile(tile);
        const double time = best_of(kTuningRuns, [this] { solver_.run_pass(); });
        if (best != 0 && time >= best) continue;
        best = time;
        pass.tile = tile;
      }
    }
    solver_.set_pass_tile(pass.tile);
    solver_.reset();
  }

  void measure_pass(StencilResult& result) {
    choose_pass(result.pass);
    result.pass.streams = result.sweep.streams;
    for (int step = 0; step < result.steps; step += result.pass_steps) {
      const double time = seconds([this] { solver_.run_pass(); }) / result.pass_steps;
      if (step == 0 || time < result.pass.step_s) result.pass.step_s = time;
    }
    result.pass.gb_per_s = speed_of(result.pass.step_s);
    if (solver_.checksum() == result.checksum) return;
    throw Error("stencil",
                "the fused pass leaves other bits than the sweeps; this is a defect of "
                "Tandem: please report the options of this run");
  }

  const StencilCommandOptions& options_;
  tiling::Courier* courier_;
  ThreadPool& pool_;
  tiling::StencilSolver solver_;
};

void check_left(const StencilCommandOptions& o, double bytes) {
  const auto left = static_cast<double>(available_memory().left_bytes);
  if (bytes <= left) return;
  throw Error("stencil", fmt::format("--cells {} takes {:.1f} GB, and {:.1f} GB are left here; "
                                     "give fewer cells",
                                     o.cells, bytes / 1e9, left / 1e9));
}

void check_stencil_memory(const StencilCommandOptions& o) {
  // A box has ghost cells on all sides, as far as the steps of a fused pass reach.
  const tiling::Stencil stencil(stencil_kind(o.stencil));
  const double boxes = std::max<double>(1, static_cast<double>(o.ranks) * o.boxes);
  const double reach = static_cast<double>(stencil.radius()) * stencil.stages() *
                       std::max(1, solver_options(o).pass_steps);
  const double cells =
      boxes * std::pow(static_cast<double>(o.cells) / std::cbrt(boxes) + 2 * reach, 3);
  const auto fields = static_cast<double>(stencil.num_values() + stencil.num_coefficients());
  const double bytes =
      sizeof(double) * (fields * cells + 3.0 * static_cast<double>(triad_length(o)));
  check_left(o, bytes);
}

// The host fills and reads one box of a device at a time.
void check_device_memory(const StencilCommandOptions& o) {
  const tiling::Stencil stencil(stencil_kind(o.stencil));
  const double side = static_cast<double>(o.cells) / std::cbrt(static_cast<double>(o.boxes)) +
                      2 * static_cast<double>(stencil.radius());
  check_left(o, sizeof(double) * std::pow(side, 3));
}

}  // namespace

StencilResult measure_on_device(const StencilCommandOptions& o, ThreadPool& pool) {
  if (o.ranks != 1 || o.transport == "mpi" || o.tile != "auto" || o.pass_tile != "auto") {
    throw Error("stencil",
                fmt::format("--device {} takes one rank, and a tile is a whole box there; "
                            "leave out --ranks, --transport, --tile and --fused-tile",
                            o.device));
  }
  check_device_memory(o);
  DeviceStencil stencil(stencil_kind(o.stencil), solver_options(o), o.device,
                        std::chrono::milliseconds(static_cast<std::int64_t>(o.timeout_s * 1e3)),
                        pool);
  const auto seconds = [&](const std::function<void()>& work) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    stencil.wait();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  StencilResult result;
  result.steps = o.steps;
  result.sweep.tile = {kAll, kAll, kAll};
  seconds([&] { stencil.triad(); });
  for (int i = 0; i < o.steps; ++i) {
    result.triad_gb_per_s = std::max(
        result.triad_gb_per_s, stencil.triad_bytes() / seconds([&] { stencil.triad(); }) / 1e9);
  }
  stencil.reset();
  for (int step = 0; step < o.steps; ++step) {
    const double time = seconds([&] { stencil.run_step(); });
    if (step == 0 || time < result.sweep.step_s) result.sweep.step_s = time;
  }
  result.sweep.gb_per_s =
      std::pow(o.cells, 3) * stencil.stencil().step_bytes() / result.sweep.step_s / 1e9;
  result.checksum = stencil.checksum();
  return result;
}

StencilResult measure_stencil(const StencilCommandOptions& options, tiling::Courier* courier,
                              ThreadPool& pool) {
  check_stencil_memory(options);
  return Measurement(options, courier, pool).run();
}

}  // namespace tandem::apps
