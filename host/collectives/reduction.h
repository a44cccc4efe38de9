// SPDX-License-Identifier: Apache-2.0
//
// Reduction of one sparse vector per rank: the common part of sparse_allreduce and its variants.
//
// A contribution holds the arguments as a vector, or the text of what is wrong with them;
// agree_on() makes it known to all ranks; reduce() chooses the scheme and runs it with the bucket's
// memory; schemes divide a mean. The first reduction with scheme "auto" measures links and
// processors (about 65 steps). Threads: the call's. Errors: AgreedError while only headers have
// been sent; afterwards TransportError, std::bad_alloc.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "collectives/aggregator/watched.h"
#include "collectives/agreement.h"
#include "collectives/group_state.h"

namespace tandem::collectives {

// One rank's part of a reduction. `own` is meaningful where `header.error` is empty.
struct Contribution {
  CallHeader header;
  SparseVector own;
  DType type = DType::kF32;  // type of the caller's values
  bool chooses = true;       // whether the call chooses the scheme (scheme "auto")
};

Deadline deadline_of(const CallOptions& options);

// Runs `make`. Returns the text of an exception that it throws (also of std::bad_alloc), else an
// empty text.
std::string text_of_failure(const std::function<void()>& make);

// The fields that every reduction's ranks must agree on; checks the options.
void add_option_fields(CallHeader& header, const ReduceOptions& options, DType type);

// The type in which sums are sent: options.wire or the tensor's type.
DType wire_of(const ReduceOptions& options, DType type);

// Exchanges headers. With scheme "auto" they contain the header of the bucket's selector.
Agreement agree_on(Call& call, Contribution& contribution, const ReduceOptions& options);

// Returns the sum, maximum or mean over all ranks. `contribution` was agreed on and is moved from.
Reduced reduce(Call& call, Contribution&& contribution, const Agreement& agreement,
               const ReduceOptions& options);

// The same as a sparse vector. Of a dense result it has the units that differ from the reduction's
// identity.
SparseVector reduce_sparse(Call& call, Contribution&& contribution, const Agreement& agreement,
                           const ReduceOptions& options);

SchemeSettings settings_of(const Agreement& agreement, const ReduceOptions& options, DType type);

// Returns the aggregator of one call: the caller's, or the CPU's. Its figures are written to the
// report.
WatchedAggregator watched_aggregator(Call& call, const ReduceOptions& options);
void report_aggregation(Call& call, const WatchedAggregator& aggregator);

// For schemes that distinguish nodes: the node of each rank, numbered by first appearance. [world]
std::vector<int> node_of_rank(const Agreement& agreement, const ReduceOptions& options);

}  // namespace tandem::collectives
