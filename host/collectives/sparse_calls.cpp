// SPDX-License-Identifier: Apache-2.0
//
// The calls on sparse tensors: arguments to a contribution, agreement, reduction, result.
#include "collectives/sparse_calls.h"

#include <cstring>
#include <utility>

#include "collectives/aggregator/aggregator.h"
#include "collectives/conversion.h"
#include "collectives/reduction.h"
#include "collectives/sparse/coalesce.h"
#include "collectives/sparse/partition.h"

namespace tandem::collectives {
namespace {

constexpr const char* kScatterPhase = "reduce-scatter";

std::string_view index_type_name(IndexType type) { return type == IndexType::kU64 ? "u64" : "u32"; }

Contribution contribution_of(std::string_view function, const SparseView& input,
                             const ReduceOptions& options) {
  Contribution contribution;
  contribution.type = input.type;
  contribution.header.function = function;
  contribution.header.error = text_of_failure([&] {
    contribution.header.fields = {
        {"num_units", std::to_string(input.num_units)},
        {"width", std::to_string(input.width)},
        {"type", std::string(dtype_name(input.type))},
        {"index type", std::string(index_type_name(input.index_type))},
    };
    add_option_fields(contribution.header, options, input.type);
    contribution.own = to_vector(input, options.reduction);
  });
  return contribution;
}

Contribution contribution_of(std::string_view function, const DenseView& tensor,
                             std::uint32_t width, const ReduceOptions& options) {
  Contribution contribution;
  contribution.type = tensor.type;
  contribution.header.function = function;
  contribution.header.error = text_of_failure([&] {
    contribution.header.fields = {
        {"num_values", std::to_string(tensor.num_values)},
        {"width", std::to_string(width)},
        {"type", std::string(dtype_name(tensor.type))},
    };
    add_option_fields(contribution.header, options, tensor.type);
    contribution.own = to_vector(tensor, width);
  });
  return contribution;
}

// Every part of `own` to the rank that owns it; the caller's, reduced in rank order.
SparseVector send_to_owners(Call& call, SparseVector own, const Partition& partition,
                            const ReduceOptions& options, DType wire) {
  const Domain domain = own.domain();
  const DType type = own.type();
  const Codec codec = *codec_from_name(options.codec);
  round_to_wire(own, wire);
  std::vector<SparseVector> parts = partition.split(own);
  std::vector<ByteBuffer> messages;
  for (const SparseVector& part : parts) {
    messages.push_back(new_message());
    encode(part, codec, wire, options.reduction, messages.back());
  }
  const auto rank = static_cast<std::size_t>(call.ranks.rank());
  const Domain local{partition.num_local(call.ranks.rank()), domain.width};
  SparseVector kept = std::move(parts[rank]);
  std::vector<SparseVector> received(parts.size());
  received[rank] = std::move(kept);
  for (auto& message : call.ranks.all_to_all(kScatterPhase, std::move(messages))) {
    if (!message) continue;
    auto body = message->body();
    received[static_cast<std::size_t>(message->source())] =
        decode(body, local, type, options.reduction);
  }
  Aggregator& aggregator = options.aggregator ? *options.aggregator : call.group.cpu_aggregator();
  return aggregator.aggregate(received, options.reduction, call.ranks.deadline());
}

}  // namespace

void run_sparse_allreduce(Group::State& group, std::uint64_t ticket, Deadline deadline,
                          const SparseView& input, const ReduceOptions& options,
                          SparseTensor& result) {
  constexpr const char* kFunction = "sparse_allreduce";
  group.run(kFunction, ticket, deadline, [&](Call& call) {
    Contribution contribution = contribution_of(kFunction, input, options);
    const Agreement agreement = agree_on(call, contribution, options);
    const SparseVector sum = reduce_sparse(call, std::move(contribution), agreement, options);
    result = to_tensor(sum, input.type, input.index_type);
  });
}

void run_sparse_allreduce_dense(Group::State& group, std::uint64_t ticket, Deadline deadline,
                                DenseView tensor, std::uint32_t width,
                                const ReduceOptions& options) {
  constexpr const char* kFunction = "sparse_allreduce_dense";
  group.run(kFunction, ticket, deadline, [&](Call& call) {
    Contribution contribution = contribution_of(kFunction, tensor, width, options);
    const Agreement agreement = agree_on(call, contribution, options);
    const Reduced sum = reduce(call, std::move(contribution), agreement, options);
    if (tensor.num_values == 0) return;
    if (const auto* sparse = std::get_if<SparseVector>(&sum)) {
      scatter(*sparse, tensor.type, tensor.values);
    } else {
      scatter(std::get<DenseVector>(sum), options.reduction, tensor.type, tensor.values);
    }
  });
}

SparseTensor sparse_allreduce(Group& group, const SparseView& input, const ReduceOptions& options) {
  SparseTensor result;
  run_sparse_allreduce(group.state(), group.state().take_ticket(), deadline_of(options), input,
                       options, result);
  return result;
}

void sparse_allreduce_dense(Group& group, DenseView tensor, std::uint32_t width,
                            const ReduceOptions& options) {
  run_sparse_allreduce_dense(group.state(), group.state().take_ticket(), deadline_of(options),
                             tensor, width, options);
}

SparseTensor sparse_reduce_scatter(Group& group, const SparseView& input,
                                   const ReduceOptions& options) {
  constexpr const char* kFunction = "sparse_reduce_scatter";
  SparseTensor result;
  group.state().run(kFunction, group.state().take_ticket(), deadline_of(options), [&](Call& call) {
    Contribution contribution = contribution_of(kFunction, input, options);
    agree_on(call, contribution, options);
    const auto partition = Partition::even(input.num_units, call.ranks.world());
    SparseVector part = send_to_owners(call, std::move(contribution.own), partition, options,
                                       wire_of(options, input.type));
    if (options.reduction == Reduction::kMean) divide(part, call.ranks.world());
    std::vector<SparseVector> parts;
    for (int owner = 0; owner < call.ranks.world(); ++owner) {
      parts.emplace_back(Domain{partition.num_local(owner), input.width}, part.type());
    }
    parts[static_cast<std::size_t>(call.ranks.rank())] = std::move(part);
    const SparseVector placed = partition.join(std::move(parts), {input.num_units, input.width});
    result = to_tensor(placed, input.type, input.index_type);
  });
  return result;
}

SparseAllreducePlan::SparseAllreducePlan(Group& group, const SparseView& input,
                                         const ReduceOptions& options)
    : result_(sparse_allreduce(group, input, options)) {}

void SparseAllreducePlan::execute(void* indices, void* values) const {
  if (result_.num_entries == 0) return;
  if (indices == nullptr || values == nullptr) {
    throw Error("collectives", "execute() needs memory for " + std::to_string(num_entries()) +
                                   " entries; indices or values are null");
  }
  std::memcpy(indices, result_.indices.data(), result_.indices.size());
  std::memcpy(values, result_.values.data(), result_.values.size());
}

SparseView SparseTensor::view() const {
  return {num_units, width, type, index_type, num_entries, indices.data(), values.data(), true};
}

Report last_report(const Group& group) { return group.state().report(); }

}  // namespace tandem::collectives
