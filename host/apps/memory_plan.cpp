// SPDX-License-Identifier: Apache-2.0
//
// Sums and their words.
#include "apps/memory_plan.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "common/error.h"
#include "tensor/quantize.h"

namespace tandem::apps {
namespace {

constexpr std::uint64_t kLeastReserve = std::uint64_t{256} << 20;

// Reserved for allocations of other parts of the process.
std::uint64_t reserve_of(std::uint64_t left) {
  return std::min(std::max(left / 8, kLeastReserve), left / 4);
}

std::string mib(std::uint64_t bytes) {
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

[[noreturn]] void refuse(const AvailableMemory& memory, const HostDemand& demand) {
  std::string text;
  if (demand.weights > 0) text = "the model's weights need " + mib(demand.weights);
  if (demand.kv_asked > 0) {
    text +=
        (text.empty() ? "" : " and ") + std::string("--kv-memory asks for ") + mib(demand.kv_asked);
  } else if (demand.kv_least > 0) {
    text += (text.empty() ? "a short request needs " : " and the KV of a short request ") +
            mib(demand.kv_least);
  }
  text += ", but " + mib(memory.left_bytes) + " of host memory are available";
  if (memory.limit_bytes != AvailableMemory::kNoLimit) {
    text += " (a control group limits this process to " + mib(memory.limit_bytes) + ")";
  }
  throw Error("memory", text + (demand.kv_asked > 0 ? "; lower --kv-memory"
                                                    : "; use a smaller model, --quantize q4_k or "
                                                      "a larger limit"));
}

}  // namespace

std::uint64_t host_kv_bytes(const AvailableMemory& memory, const HostDemand& demand) {
  const std::uint64_t kv = demand.kv_asked > 0 ? demand.kv_asked : demand.kv_least;
  const std::uint64_t left = memory.left_bytes;
  if (demand.weights > left || kv > left - demand.weights) refuse(memory, demand);
  if (demand.kv_asked > 0) return demand.kv_asked;
  const std::uint64_t spent = demand.computing + reserve_of(left);
  return std::max(demand.kv_least, left - std::min(left, spent));
}

std::uint64_t least_weight_bytes(const model::ModelConfig& config, const std::string& quantize) {
  constexpr std::uint64_t kValues = 256;  // whole blocks of every type
  const auto bytes_as = [&](DType type) {
    return config.parameters / kValues * dtype_row_bytes(type, kValues);
  };
  if (quantize == "f32") return std::max(config.weight_bytes, bytes_as(DType::kF32));
  if (quantize == "f8") return std::min(config.weight_bytes, bytes_as(DType::kF8E4M3));
  for (const DType type : quantizable_types()) {
    if (dtype_name(type) == quantize) return std::min(config.weight_bytes, bytes_as(type));
  }
  return config.weight_bytes;
}

std::uint64_t kv_page_bytes(const device::AttentionGeometry& geometry) {
  const auto rows = static_cast<std::uint64_t>(geometry.num_layers) * 2 *
                    static_cast<std::uint64_t>(geometry.kv_heads) *
                    static_cast<std::uint64_t>(geometry.page_tokens);
  const std::uint64_t scale = device::kv_has_scales(geometry.kv_dtype) ? sizeof(float) : 0;
  return rows *
         (static_cast<std::uint64_t>(geometry.head_dim) * dtype_block_bytes(geometry.kv_dtype) +
          scale);
}

}  // namespace tandem::apps
