// SPDX-License-Identifier: Apache-2.0
//
// The options of `tandem stencil`, and their conversion from and to text.
//
// Errors: Error, which names the option.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "tensor/tiling/stencils/stencil_solver.h"

namespace tandem::apps {

struct StencilCommandOptions {
  std::string stencil, tile = "auto", pass_tile = "auto", schedule = "static", transport = "auto",
                       device = "cpu";
  int cells = 256, ranks = 1, boxes = 1, threads = 0, steps = 12, fuse = 4;
  double timeout_s = 60;
  bool json = false, are_ranks_given = false;
};

void add_stencil_options(CLI::App& command, StencilCommandOptions& options);

// "8x8x256": planes, rows, columns. nullopt for "auto". `option` is named in errors.
std::optional<tiling::Point<3>> tile_of(const std::string& text, const std::string& option);
std::string tile_text(const tiling::Point<3>& tile, std::int64_t cells);

tiling::StencilKind stencil_kind(const std::string& name);

// The options of one rank, without tiles. A pass fuses --fuse steps; rk3 fuses the stages of one
// step.
tiling::StencilOptions solver_options(const StencilCommandOptions& options);

}  // namespace tandem::apps
