// SPDX-License-Identifier: Apache-2.0
//
// Tiles longer than the domain are cut off at it.
#include "apps/collectives/stencil/stencil_options.h"

#include <algorithm>

#include "apps/command_words.h"
#include "common/error.h"
#include "common/number.h"

namespace tandem::apps {

void add_stencil_options(CLI::App& command, StencilCommandOptions& o) {
  command.option_defaults()->always_capture_default();
  command.add_option("stencil", o.stencil, "the stencil to compute")
      ->required()
      ->check(CLI::IsMember({"heat", "jacobi", "rk3"}));
  command.add_option("--cells", o.cells, "cells in each of the three dimensions")
      ->check(in_range(1, 4096));
  command.add_option(
      "--tile", o.tile,
      "size of a tile in a sweep: planes x rows x columns, such as 8x8x256; auto measures some");
  command.add_option("--fused-tile", o.pass_tile,
                     "size of a tile in a fused pass, in the same form");
  command
      .add_option("--fuse", o.fuse,
                  "time steps that a fused pass makes at once (0: measure no fused pass; rk3 fuses "
                  "at most 1)")
      ->check(in_range(0, 16));
  command
      .add_option("--ranks", o.ranks,
                  "number of ranks that share the domain; under mpirun its processes")
      ->check(in_range(1, 1024));
  command.add_option("--boxes", o.boxes, "boxes of each rank, each with memory of its own")
      ->check(in_range(1, 4096));
  command
      .add_option("--threads", o.threads,
                  "threads of each rank (0: the cores, divided among the ranks)")
      ->check(in_range(0, 1024));
  command
      .add_option("--schedule", o.schedule,
                  "how tiles are given to threads: static: in equal parts; dynamic: to the next "
                  "free thread")
      ->check(CLI::IsMember({"static", "dynamic"}));
  command.add_option("--steps", o.steps, "least number of time steps")->check(in_range(1, 1e6));
  command.add_option("--device", o.device,
                     "cpu, or a GPU such as cuda:0, on which a tile is a whole box");
  command
      .add_option("--transport", o.transport,
                  "inproc: ranks are threads; mpi: mpirun starts them; auto: as it was started")
      ->check(CLI::IsMember({"auto", "inproc", "mpi"}));
  command.add_option("--timeout-s", o.timeout_s, "seconds to wait for another rank")
      ->check(in_range(0.1, 86400));
  command.add_flag("--json", o.json, "print JSON");
}

std::optional<tiling::Point<3>> tile_of(const std::string& text, const std::string& option) {
  if (text == "auto") return std::nullopt;
  tiling::Point<3> tile{};
  std::size_t at = 0;
  for (std::size_t d = 0; d < 3; ++d) {
    const std::size_t end = d < 2 ? text.find('x', at) : text.size();
    const auto extent =
        end == std::string::npos ? std::nullopt : number_of<int>(text.substr(at, end - at));
    if (!extent || *extent < 1) {
      throw Error("stencil",
                  option + ": '" + text +
                      "' is not a tile; give planes, rows and columns from 1 on, such as "
                      "8x8x256, or auto");
    }
    tile[d] = *extent;
    at = end + 1;
  }
  return tile;
}

std::string tile_text(const tiling::Point<3>& tile, std::int64_t cells) {
  std::string text;
  for (const std::int64_t extent : tile) {
    text += (text.empty() ? "" : "x") + std::to_string(std::min(extent, cells));
  }
  return text;
}

tiling::StencilKind stencil_kind(const std::string& name) {
  if (name == "heat") return tiling::StencilKind::kHeat;
  return name == "jacobi" ? tiling::StencilKind::kJacobi : tiling::StencilKind::kRk3;
}

tiling::StencilOptions solver_options(const StencilCommandOptions& o) {
  tiling::StencilOptions options;
  options.cells = o.cells;
  options.boxes_per_rank = o.boxes;
  options.schedule =
      o.schedule == "static" ? tiling::Schedule::kStatic : tiling::Schedule::kDynamic;
  options.pass_steps = o.stencil == "rk3" ? std::min(o.fuse, 1) : o.fuse;
  return options;
}

}  // namespace tandem::apps
