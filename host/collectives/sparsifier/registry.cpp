// SPDX-License-Identifier: Apache-2.0
//
// The names of all sparsifiers, and the checks of their options.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "collectives/sparsifier/algorithms.h"
#include "collectives/sparsifier/narrow_exchange.h"

namespace tandem::collectives {
namespace {

struct NamedSparsifier {
  const char* name;
  AlgorithmFactory make;
  bool velocity = false;  // the store keeps one
};

constexpr std::array kSparsifiers = {
    NamedSparsifier{"topk", make_topk},
    NamedSparsifier{"cltk", make_cltk},
    NamedSparsifier{"randomk", make_randomk},
    NamedSparsifier{"hard_threshold", make_hard_threshold},
    NamedSparsifier{"dgc", make_dgc, true},
    NamedSparsifier{"sidco", make_sidco},
    NamedSparsifier{"gaussiank", make_gaussiank},
    NamedSparsifier{"redsync", make_redsync},
    NamedSparsifier{"deft", make_deft},
    NamedSparsifier{"micro", make_micro},
    NamedSparsifier{"exdyna", make_exdyna},
    NamedSparsifier{"ok_topk", make_ok_topk},
    NamedSparsifier{"chunk_topk", make_chunk_topk},
};

void require_option(bool holds, const std::string& message) {
  if (!holds) throw Error("sparsifier", message);
}

void check_sparsifier_options(const SparsifierOptions& options, std::uint64_t num_values) {
  const auto in = [](double value, double least, double most) {
    return value >= least && value <= most;
  };
  require_option(
      num_values > 0 && num_values <= std::numeric_limits<std::uint32_t>::max(),
      "a parameter has 1 to 2^32 - 1 values, this one has " + std::to_string(num_values));
  require_option(in(options.density, 0, 1),
                 "density must lie in [0, 1]; it is " + std::to_string(options.density));
  require_option(in(options.momentum, 0, 1), "momentum must lie in [0, 1]");
  require_option(in(options.decay, 0, 1), "decay must lie in [0, 1]");
  require_option(std::isfinite(options.clip_norm) && options.clip_norm >= 0,
                 "clip_norm must not be negative");
  require_option(std::isfinite(options.hard_threshold) && options.hard_threshold >= 0,
                 "hard_threshold must not be negative");
  require_option(options.local_steps > 0, "local_steps must be at least 1");
  require_option(options.threshold_steps > 0, "threshold_steps must be at least 1");
  const DType wire = options.reduce.wire.value_or(DType::kF32);
  require_option(wire == DType::kF32 || is_narrow(options.reduce),
                 "sparsifiers send f32, f16 or bf16, not " + std::string(dtype_name(wire)));
  std::uint64_t layers = 0;
  for (const std::uint64_t size : options.layer_sizes) {
    require_option(size > 0 && size <= num_values, "a layer has 1 value at least");
    layers += size;
  }
  require_option(options.layer_sizes.empty() || layers == num_values,
                 "layer_sizes add up to " + std::to_string(layers) + ", the parameter has " +
                     std::to_string(num_values) + " values");
}

const NamedSparsifier& sparsifier_called(std::string_view name) {
  const auto found = std::ranges::find(kSparsifiers, name, &NamedSparsifier::name);
  if (found != kSparsifiers.end()) return *found;
  std::string known;
  for (const std::string& each : sparsifier_names()) known += (known.empty() ? "" : ", ") + each;
  throw Error("sparsifier",
              "no sparsifier is called '" + std::string(name) + "'; there are: " + known);
}

std::unique_ptr<Sparsifier> make_over(const NamedSparsifier& named,
                                      std::unique_ptr<ResidualStore> store,
                                      const SparsifierOptions& options) {
  auto algorithm = named.make(*store, options);
  const std::string& scheme = options.reduce.scheme;
  require_option(!is_narrow(options.reduce) ||
                     algorithm->clearing_rule() == ClearingRule::kAllGlobal || scheme == "auto" ||
                     scheme == "allgather_sparse",
                 "own entries of 16 bits are sent by all-gather, not by " + scheme +
                     "; use scheme auto, or no wire type");
  return std::make_unique<Sparsifier>(named.name, options, std::move(store), std::move(algorithm));
}

}  // namespace

std::unique_ptr<Sparsifier> make_sparsifier(std::string_view name, std::uint64_t num_values,
                                            const SparsifierOptions& options) {
  check_sparsifier_options(options, num_values);
  const NamedSparsifier& named = sparsifier_called(name);
  return make_over(named, make_host_residual(num_values, named.velocity, options.threads), options);
}

std::unique_ptr<Sparsifier> make_sparsifier(std::string_view name, DeviceResidence device,
                                            const SparsifierOptions& options) {
  check_sparsifier_options(options, device.unit->shape().num_values);
  const NamedSparsifier& named = sparsifier_called(name);
  require_option(!named.velocity || device.unit->shape().velocity,
                 std::string(named.name) + " needs a unit with a velocity; ask selection_shape()");
  return make_over(named, make_device_residual(std::move(device), options.reduce.timeout), options);
}

device::SelectionShape selection_shape(std::string_view name, std::uint64_t num_values) {
  return {num_values, sparsifier_called(name).velocity};
}

std::vector<std::string> sparsifier_names() {
  std::vector<std::string> names;
  for (const NamedSparsifier& each : kSparsifiers) names.emplace_back(each.name);
  return names;
}

}  // namespace tandem::collectives
