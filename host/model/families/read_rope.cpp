// SPDX-License-Identifier: Apache-2.0
//
// Decoder: the keys rope.* and the tensor rope_freqs.
#include "model/families/decoder.h"

namespace tandem::model {
namespace {

RopeScaling scaling_kind(const CheckpointReader& reader) {
  constexpr const char* kType = "rope.scaling.type";
  const auto name = reader.file().get_string(reader.key(kType));
  if (!name || *name == "none") return RopeScaling::kNone;
  if (*name == "linear") return RopeScaling::kLinear;
  if (*name == "yarn") return RopeScaling::kYarn;
  throw reader.error(
      kType, "'" + std::string(*name) + "' is not supported; supported: none, linear, yarn");
}

}  // namespace

RopeScalingConfig read_rope_base(const CheckpointReader& reader, const ModelConfig& config,
                                 float base) {
  RopeScalingConfig scaling;
  scaling.num_dims = reader.positive_or("rope.dimension_count", config.head_dim);
  if (scaling.num_dims % 2 != 0 || scaling.num_dims > config.head_dim) {
    throw reader.error("rope.dimension_count", std::to_string(scaling.num_dims) +
                                                   " must be even and at most the head's " +
                                                   std::to_string(config.head_dim));
  }
  scaling.base = reader.positive_float("rope.freq_base", base);
  scaling.original_context = reader.positive_or("rope.scaling.original_context_length",
                                                config.context_length, kMaxContext);
  return scaling;
}

RopeConfig read_rope(CheckpointReader& reader, const ModelConfig& config, float base) {
  RopeScalingConfig scaling = read_rope_base(reader, config, base);
  scaling.kind = scaling_kind(reader);
  scaling.factor = reader.positive_float("rope.scaling.factor", 1.0f);
  if (!reader.has("rope.scaling.type") && reader.has("rope.scale_linear")) {
    scaling.kind = RopeScaling::kLinear;
    scaling.factor = reader.positive_float("rope.scale_linear", 1.0f);
  }
  scaling.beta_fast = reader.positive_float("rope.scaling.yarn_beta_fast", 32.0f);
  scaling.beta_slow = reader.positive_float("rope.scaling.yarn_beta_slow", 1.0f);
  scaling.attention_factor = reader.positive_float("rope.scaling.attn_factor", 1.0f);
  if (scaling.kind == RopeScaling::kYarn && !(scaling.base > 1.0f)) {
    throw reader.error("rope.freq_base", "must be greater than 1 for YaRN");
  }
  scaling.divisors = reader.optional_divisors("rope_freqs.weight", scaling.num_dims / 2);
  RopeConfig rope = scaled_rope(scaling);
  rope.interleaved = false;
  return rope;
}

RopeConfig read_ordered_rope(CheckpointReader& reader, const ModelConfig& config) {
  RopeConfig rope = read_rope(reader, config);
  rope.interleaved = reader.file().rotates_neighbours();
  return rope;
}

}  // namespace tandem::model
