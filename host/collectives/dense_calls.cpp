// SPDX-License-Identifier: Apache-2.0
//
// Dense all-reduce: the dense schemes without a detour over indices.
//
// auto: halving-doubling has the ring's bytes in 2 log2 n steps where n is a power of two;
// elsewhere folding sends whole vectors, so from kRingBytes on the ring is chosen.
#include <bit>
#include <utility>

#include "collectives/conversion.h"
#include "collectives/reduction.h"
#include "collectives/scheme/dense_exchange.h"
#include "collectives/sparse_calls.h"
#include "collectives/traffic_trace.h"

namespace tandem::collectives {
namespace {

constexpr const char* kDenseFunction = "allreduce";
constexpr const char* kRing = "dense_ring";
constexpr const char* kHalvingDoubling = "dense_halving_doubling";
constexpr std::size_t kRingBytes = 1 << 18;

// Checks the arguments. Returns the tensor in the type of the sums.
DenseVector dense_vector_of(const DenseView& tensor, const ReduceOptions& options) {
  if (options.scheme != "auto" && options.scheme != kRing && options.scheme != kHalvingDoubling) {
    throw Error("collectives", "a dense tensor is not for scheme '" + options.scheme +
                                   "'; choose dense_ring, dense_halving_doubling or auto");
  }
  return to_dense_vector(tensor, options.reduction);
}

std::string scheme_of(const ReduceOptions& options, std::size_t bytes, int world) {
  if (options.scheme != "auto") return options.scheme;
  const bool folds = !std::has_single_bit(static_cast<unsigned>(world));
  return folds && bytes >= kRingBytes ? kRing : kHalvingDoubling;
}

}  // namespace

void run_allreduce(Group::State& group, std::uint64_t ticket, Deadline deadline, DenseView tensor,
                   const ReduceOptions& options) {
  group.run(kDenseFunction, ticket, deadline, [&](Call& call) {
    CallHeader header;
    header.function = kDenseFunction;
    DenseVector dense;
    header.error = text_of_failure([&] {
      header.fields = {{"num_values", std::to_string(tensor.num_values)},
                       {"type", std::string(dtype_name(tensor.type))}};
      add_option_fields(header, options, tensor.type);
      dense = dense_vector_of(tensor, options);
    });
    agree(call.ranks, header);
    SchemeSettings settings;
    settings.reduction = options.reduction;
    settings.wire = wire_of(options, tensor.type);
    const std::size_t bytes = tensor.num_values * dtype_block_bytes(settings.wire);
    call.report.scheme = scheme_of(options, bytes, call.ranks.world());
    const ModelledCall modelled(call.group.transport());
    const bool is_ring = call.report.scheme == kRing;
    if (is_ring) {
      ring(call.ranks, dense, settings);
    } else {
      halving_doubling(call.ranks, dense, settings);
    }
    if (of_partials(settings).wire == settings.wire) {  // otherwise sizes depend on the step
      modelled.end({is_ring, tensor.num_values, dtype_block_bytes(settings.wire)});
    }
    write_values(dense, tensor);
  });
}

void allreduce(Group& group, DenseView tensor, const ReduceOptions& options) {
  run_allreduce(group.state(), group.state().take_ticket(), deadline_of(options), tensor, options);
}

}  // namespace tandem::collectives
