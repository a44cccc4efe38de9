// SPDX-License-Identifier: Apache-2.0
//
// Scheme: one published way to all-reduce sparse vectors; a file each.
//
// Every rank of the communicator calls allreduce() with its own vector, the same scheme, settings
// and domain; every rank returns the same bits. Schemes are stateless; what a scheme learns from
// call to call (Ok-Topk's regions) is kept in the SchemeMemory, which the caller holds per bucket.
// It changes alike on all ranks.
// Numerics: ranks' own values and finished sums travel in the wire type, partial sums in the
// accumulation type (partial_type), so a 16-bit sum is rounded once. A mean is divided by the
// scheme, before that rounding (finish_sum). A rank rounds what it keeps like what it sends.
// Presence: a unit that cancels to zero may or may not remain. For max
// entries count: a unit whose maximum is -infinity (0 for u64) stays. Schemes and codecs that tell
// absence by value therefore refuse max.
// Threads: one call per communicator at a time. Errors: TransportError; the group is then broken.
// To add a scheme: README.md.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "collectives/aggregator/aggregator.h"
#include "collectives/frames/communicator.h"
#include "collectives/frames/vocabulary.h"
#include "collectives/scheme/problem.h"

namespace tandem::collectives {

struct SchemeSettings {
  Reduction reduction = Reduction::kSum;
  DType wire = DType::kF32;     // the vector's type, or f16 or bf16 for f32
  Codec codec = Codec::kAuto;   // for phases that send sparse data; auto: by each message's counts
  std::uint64_t seed = 0x7a9d;  // of hashed partitions; equal on all ranks
  std::vector<int> node_of_rank;  // [world] for two_level; empty: every rank its own node
  int server_count = 0;           // parameter servers (the first ranks); 0: all ranks
};

// See the scheme that uses it; empty at first.
struct SchemeMemory {
  std::uint64_t num_calls = 0;
  std::vector<std::uint64_t> region_bounds;
};

// The sum, in whichever form the scheme ends with.
using Reduced = std::variant<SparseVector, DenseVector>;

class Scheme {
 public:
  virtual ~Scheme() = default;
  virtual std::string_view name() const = 0;  // "balanced_parallelism": as on the command line
  virtual std::string_view description() const = 0;  // one line

  // Whether ranks hand their parts to the aggregator given to allreduce(), whose speed then shows
  // in the time of a call.
  virtual bool uses_aggregator() const { return false; }

  // Empty where it can run; otherwise why not (a domain too large to be dense, ...).
  virtual std::string refusal(const Problem& problem) const = 0;

  // Expected cost; monotone in every count of `problem`.
  virtual Cost cost(const Problem& problem, const LinkModel& link,
                    const ComputeModel& compute) const = 0;

  virtual Reduced allreduce(Communicator& ranks, SparseVector own, const SchemeSettings& settings,
                            SchemeMemory& memory, Aggregator& aggregator) const = 0;
};

// All schemes of this build, in the order of the documentation.
std::span<const Scheme* const> all_schemes();

// Throws Error naming the known ones.
const Scheme& scheme_by_name(std::string_view name);

}  // namespace tandem::collectives
