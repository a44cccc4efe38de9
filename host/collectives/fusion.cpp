// SPDX-License-Identifier: Apache-2.0
//
// Bucket fusion: several tensors reduced as one, their index spaces laid end to end.
//
// Small tensors cost latency and balance badly; one fused tensor pays for one set of messages. The
// fused domain may need 64-bit indices where no single tensor does; encodings on the wire stay
// compact. Results are cut out of the sum, which is sorted. Cost: one copy of the entries each way.
#include <algorithm>
#include <utility>

#include "collectives/conversion.h"
#include "collectives/reduction.h"
#include "collectives/sparse_calls.h"

namespace tandem::collectives {
namespace {

constexpr const char* kFusedFunction = "sparse_allreduce_fused";

// [inputs.size() + 1]; the first unit of each in the fused space, and the end.
std::vector<std::uint64_t> offsets_of(std::span<const SparseView> inputs) {
  std::vector<std::uint64_t> offsets{0};
  for (std::size_t at = 0; at < inputs.size(); ++at) {
    const SparseView& input = inputs[at];
    const SparseView& first = inputs.front();
    if (input.width != first.width || input.type != first.type ||
        input.index_type != first.index_type) {
      throw Error("collectives",
                  "tensor " + std::to_string(at) +
                      " has another width, type or index type than tensor 0; fuse equal ones");
    }
    const std::uint64_t units = checked_domain(input.num_units, input.width, input.type).num_units;
    offsets.push_back(offsets.back() + units);  // both below 2^60
    checked_domain(offsets.back(), input.width, input.type);
  }
  return offsets;
}

// Appends `part`, whose units begin at `offset`, to `fused` from entry `at` on.
void place(const SparseVector& part, std::uint64_t offset, std::size_t at, SparseVector& fused) {
  visit_types(fused, [&](auto index, auto value) {
    using I = decltype(index);
    using T = decltype(value);
    I* to = fused.indices<I>().data() + at;
    const auto copy = [&](auto indices) {
      std::transform(indices.begin(), indices.end(), to,
                     [&](auto unit) { return static_cast<I>(unit + offset); });
    };
    if (part.wide()) {
      copy(part.indices<std::uint64_t>());
    } else {
      copy(part.indices<std::uint32_t>());
    }
    const auto values = part.values<T>();
    std::copy(values.begin(), values.end(),
              fused.values<T>().begin() + static_cast<std::ptrdiff_t>(at * part.domain().width));
  });
}

SparseVector fuse(std::span<const SparseView> inputs, const std::vector<std::uint64_t>& offsets,
                  Reduction reduction) {
  if (inputs.empty()) return SparseVector({0, 1}, DType::kF32);
  const SparseView& first = inputs.front();
  SparseVector fused({offsets.back(), first.width}, accumulation_type(first.type));
  std::size_t num_entries = 0;
  for (const SparseView& input : inputs) num_entries += input.num_entries;
  fused.resize(num_entries);
  std::size_t filled = 0;
  for (std::size_t at = 0; at < inputs.size(); ++at) {
    try {
      const SparseVector part = to_vector(inputs[at], reduction);
      place(part, offsets[at], filled, fused);
      filled += part.num_entries();
    } catch (const Error& error) {
      throw Error("collectives", "tensor " + std::to_string(at) + ": " + plain_text(error));
    }
  }
  fused.resize(filled);
  return fused;
}

void add_shape_fields(CallHeader& header, std::span<const SparseView> inputs) {
  const SparseView first = inputs.empty() ? SparseView{} : inputs.front();
  header.fields = {
      {"the number of tensors", std::to_string(inputs.size())},
      {"width", std::to_string(first.width)},
      {"type", std::string(dtype_name(first.type))},
      {"index type", first.index_type == IndexType::kU64 ? "u64" : "u32"},
  };
  for (std::size_t at = 0; at < inputs.size(); ++at) {
    header.fields.push_back(
        {"num_units of tensor " + std::to_string(at), std::to_string(inputs[at].num_units)});
  }
}

}  // namespace

void run_sparse_allreduce_fused(Group::State& group, std::uint64_t ticket, Deadline deadline,
                                std::span<const SparseView> inputs, const ReduceOptions& options,
                                std::vector<SparseTensor>& results) {
  group.run(kFusedFunction, ticket, deadline, [&](Call& call) {
    Contribution contribution;
    std::vector<std::uint64_t> offsets;
    contribution.header.function = kFusedFunction;
    contribution.header.error = text_of_failure([&] {
      add_shape_fields(contribution.header, inputs);
      if (!inputs.empty()) contribution.type = inputs.front().type;
      add_option_fields(contribution.header, options, contribution.type);
      offsets = offsets_of(inputs);
      contribution.own = fuse(inputs, offsets, options.reduction);
    });
    const Agreement agreement = agree_on(call, contribution, options);
    const SparseVector sum = reduce_sparse(call, std::move(contribution), agreement, options);
    for (std::size_t at = 0; at < inputs.size(); ++at) {
      results.push_back(to_tensor(slice(sum, offsets[at], offsets[at + 1]), inputs[at].type,
                                  inputs[at].index_type));
    }
  });
}

std::vector<SparseTensor> sparse_allreduce_fused(Group& group, std::span<const SparseView> inputs,
                                                 const ReduceOptions& options) {
  std::vector<SparseTensor> results;
  run_sparse_allreduce_fused(group.state(), group.state().take_ticket(), deadline_of(options),
                             inputs, options, results);
  return results;
}

}  // namespace tandem::collectives
