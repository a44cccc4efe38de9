// SPDX-License-Identifier: Apache-2.0
//
// The calls on sparse tensors: arguments to a contribution, agreement, reduction, result.
#include "collectives/sparse_calls.h"

#include <cstring>
#include <utility>

#include "collectives/conversion.h"
#include "collectives/reduction.h"
#include "collectives/scheme/owner_exchange.h"
#include "collectives/scheme/received.h"
#include "tensor/sparse/coalesce.h"
#include "tensor/sparse/partition.h"

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

// The caller's part of the reduced tensor, in the local places of `partition`.
SparseVector reduce_own_part(Call& call, SparseVector own, const Partition& partition,
                             const SchemeSettings& settings, const ReduceOptions& options) {
  round_as_sent(own, settings);
  const auto parts = push_to_owners(call.ranks, kScatterPhase, partition, own, settings);
  WatchedAggregator aggregator = watched_aggregator(call, options);
  SparseVector sum = aggregator.aggregate(parts, settings.reduction, call.ranks.deadline());
  report_aggregation(call, aggregator);
  finish_sum(sum, settings, call.ranks.world());
  return sum;
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

void run_sparse_reduce_scatter(Group::State& group, std::uint64_t ticket, Deadline deadline,
                               const SparseView& input, const ReduceOptions& options,
                               SparseTensor& result) {
  constexpr const char* kFunction = "sparse_reduce_scatter";
  group.run(kFunction, ticket, deadline, [&](Call& call) {
    Contribution contribution = contribution_of(kFunction, input, options);
    contribution.chooses = false;
    const Agreement agreement = agree_on(call, contribution, options);
    const auto partition = Partition::even(input.num_units, call.ranks.world());
    std::vector<SparseVector> parts;
    for (int owner = 0; owner < call.ranks.world(); ++owner) {
      parts.emplace_back(Domain{partition.num_local(owner), input.width}, contribution.own.type());
    }
    parts[static_cast<std::size_t>(call.ranks.rank())] =
        reduce_own_part(call, std::move(contribution.own), partition,
                        settings_of(agreement, options, input.type), options);
    const SparseVector placed = partition.join(std::move(parts), {input.num_units, input.width});
    result = to_tensor(placed, input.type, input.index_type);
  });
}

SparseTensor sparse_reduce_scatter(Group& group, const SparseView& input,
                                   const ReduceOptions& options) {
  SparseTensor result;
  run_sparse_reduce_scatter(group.state(), group.state().take_ticket(), deadline_of(options), input,
                            options, result);
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
  return {num_units, width, type, index_type, num_entries, indices.data(), values.data(), true, {}};
}

Report last_report(const Group& group) { return group.state().report(); }

}  // namespace tandem::collectives
