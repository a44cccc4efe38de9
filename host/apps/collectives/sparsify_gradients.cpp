// SPDX-License-Identifier: Apache-2.0
//
// Synthetic values are runs of a table at places that a hash gives: as fast as copying, so that a
// benchmark's time is not spent here.
#include "apps/collectives/sparsify_gradients.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "common/error.h"
#include "tensor/sparse/generate/captured.h"
#include "tensor/sparse/generate/random_subset.h"

namespace tandem::apps {
namespace {

constexpr std::uint64_t kTableValues = 1 << 18;
constexpr std::uint64_t kTableRun = 512;
constexpr std::uint64_t kMostLayers = 64;
constexpr std::uint64_t kLeastLayerValues = 1024;

std::vector<std::uint64_t> layers_of_folder(const std::filesystem::path& folder,
                                            std::uint64_t num_values) {
  std::ifstream file(folder / "tensors.json");
  if (!file) return {num_values};
  try {
    std::vector<std::uint64_t> offsets;
    for (const auto& tensor : nlohmann::json::parse(file)) {
      offsets.push_back(tensor.at("offset").get<std::uint64_t>());
    }
    std::ranges::sort(offsets);
    offsets.push_back(num_values);
    std::vector<std::uint64_t> sizes;
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
      if (offsets[i + 1] > offsets[i]) sizes.push_back(offsets[i + 1] - offsets[i]);
    }
    if (!sizes.empty() && offsets.front() == 0) return sizes;
  } catch (const nlohmann::json::exception&) {
  }
  throw Error("sparsify-bench", (folder / "tensors.json").string() +
                                    " must be a list of tensors whose offsets begin at 0");
}

std::string file_of(const std::string& folder, std::uint64_t number) {
  return (std::filesystem::path(folder) / ("gradient-" + std::to_string(number) + ".f32")).string();
}

struct Recording {
  std::uint64_t ranks, steps;
};

std::optional<Recording> recording_of_folder(const std::filesystem::path& folder) {
  const auto path = folder / "recording.json";
  std::ifstream file(path);
  if (!file) return std::nullopt;
  constexpr std::uint64_t kMost = 1'000'000;
  try {
    const auto json = nlohmann::json::parse(file);
    const Recording recording{json.at("ranks").get<std::uint64_t>(),
                              json.at("steps").get<std::uint64_t>()};
    const auto usable = [](std::uint64_t count) { return count > 0 && count <= kMost; };
    if (usable(recording.ranks) && usable(recording.steps)) return recording;
  } catch (const nlohmann::json::exception&) {
  }
  throw Error(
      "sparsify-bench",
      path.string() + " must have numbers `ranks` and `steps` from 1 to " + std::to_string(kMost));
}

}  // namespace

SparsifyGradients SparsifyGradients::captured(const std::string& folder) {
  SparsifyGradients gradients;
  const std::filesystem::path path(folder);
  gradients.folder_ = folder;
  if (!std::filesystem::exists(file_of(folder, 0))) {
    throw Error("sparsify-bench", folder + " has no file gradient-0.f32");
  }
  gradients.num_values_ = sparse::read_captured_gradient(file_of(folder, 0)).size();
  if (const auto recording = recording_of_folder(path)) {
    gradients.check_recording(recording->ranks, recording->steps);
  } else {
    for (std::uint64_t i = 0; std::filesystem::exists(file_of(folder, i)); ++i) {
      gradients.files_.push_back(gradients.read_file(i));
    }
  }
  gradients.layer_sizes_ = layers_of_folder(path, gradients.num_values_);
  return gradients;
}

// Errors before the first sparsifier runs for minutes.
void SparsifyGradients::check_recording(std::uint64_t ranks, std::uint64_t steps) {
  const std::uint64_t last = ranks * steps - 1;
  if (!std::filesystem::exists(file_of(folder_, last))) {
    throw Error("sparsify-bench", "recording.json says " + std::to_string(ranks) + " ranks and " +
                                      std::to_string(steps) + " steps, but there is no " +
                                      file_of(folder_, last));
  }
  recorded_ranks_ = ranks;
  recorded_steps_ = steps;
}

std::vector<float> SparsifyGradients::read_file(std::uint64_t number) const {
  const std::string file = file_of(folder_, number);
  std::vector<float> values = sparse::read_captured_gradient(file);
  if (values.size() != num_values_) {
    throw Error("sparsify-bench", file + " has " + std::to_string(values.size()) +
                                      " values; gradient-0.f32 has " + std::to_string(num_values_));
  }
  return values;
}

SparsifyGradients SparsifyGradients::synthetic(std::uint64_t num_values, double skew,
                                               std::uint64_t seed) {
  SparsifyGradients gradients;
  gradients.num_values_ = num_values;
  gradients.seed_ = seed;
  sparse::Random random(seed);
  gradients.table_.resize(kTableValues + kTableRun);
  for (float& value : gradients.table_) {
    const double magnitude = -std::log(1 - random.uniform());
    value = static_cast<float>(random.next() % 2 == 0 ? magnitude : -magnitude);
  }
  const std::uint64_t layers =
      std::clamp<std::uint64_t>(num_values / kLeastLayerValues, 1, kMostLayers);
  std::uint64_t begin = 0;  // layer i has a size of 1 + i mod 4 shares
  std::uint64_t shares = 0, done = 0;
  for (std::uint64_t i = 0; i < layers; ++i) shares += 1 + i % 4;
  for (std::uint64_t i = 0; i < layers; ++i) {
    done += 1 + i % 4;
    const auto end = static_cast<std::uint64_t>(
        static_cast<double>(num_values) * static_cast<double>(done) / static_cast<double>(shares));
    gradients.layer_sizes_.push_back((i + 1 == layers ? num_values : end) - begin);
    begin = end;
    gradients.log_scales_.push_back(skew * random.normal());
  }
  return gradients;
}

void SparsifyGradients::fill_layer(std::size_t layer, std::uint64_t first, int rank,
                                   std::uint64_t step, float* to) const {
  const double drift = 0.2 * std::sin(static_cast<double>(step) / 40 + static_cast<double>(layer));
  const auto scale = static_cast<float>(0.01 * std::exp(log_scales_[layer] + drift));
  const std::uint64_t size = layer_sizes_[layer];
  const std::uint64_t of_step = sparse::mix(seed_, step);
  const std::uint64_t of_rank = sparse::mix(of_step, static_cast<std::uint64_t>(rank) + 1);
  for (std::uint64_t at = 0; at < size; at += kTableRun) {
    const std::uint64_t run = (first + at) / kTableRun;
    const float* common = &table_[sparse::mix(of_step, run) % kTableValues];
    const float* own = &table_[sparse::mix(of_rank, run) % kTableValues];
    const std::uint64_t count = std::min(kTableRun, size - at);
    for (std::uint64_t i = 0; i < count; ++i) to[at + i] = scale * (0.5f * common[i] + own[i]);
  }
}

void SparsifyGradients::fill(int rank, std::uint64_t step, std::vector<float>& to) const {
  to.resize(num_values_);
  if (recorded_ranks_ > 0) {
    to = read_file(step % recorded_steps_ * recorded_ranks_ +
                   static_cast<std::uint64_t>(rank) % recorded_ranks_);
    return;
  }
  if (!files_.empty()) {
    const auto& file = files_[(static_cast<std::uint64_t>(rank) + step) % files_.size()];
    std::copy(file.begin(), file.end(), to.begin());
    return;
  }
  std::uint64_t first = 0;
  for (std::size_t layer = 0; layer < layer_sizes_.size(); ++layer) {
    fill_layer(layer, first, rank, step, to.data() + first);
    first += layer_sizes_[layer];
  }
}

}  // namespace tandem::apps
