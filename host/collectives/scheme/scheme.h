// SPDX-License-Identifier: Apache-2.0
//
// Scheme: a published algorithm that all-reduces sparse vectors. Each scheme has its own file.
//
// Schemes are stateless. Numerics: ranks' own values and finished sums travel in the wire type,
// partial sums in the accumulation type (partial_type), so a 16-bit sum is rounded once. The scheme
// divides a mean before that rounding (finish_sum). A rank rounds the values that it keeps in the
// same way as those that it sends. A unit that cancels to zero may or may not remain. For max,
// every entry counts: a unit whose maximum is -infinity (0 for u64) stays. Schemes and codecs that
// detect absence by value therefore refuse max. Threads: one call per communicator at a time.
// Errors: TransportError; the group is then broken. To add a scheme: README.md.
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
  std::uint64_t seed = 0x7a9d;  // seed of hashed partitions; equal on all ranks
  std::vector<int> node_of_rank;  // [world] for two_level; empty: every rank its own node
  int server_count = 0;           // parameter servers (the first ranks); 0: all ranks
};

// State that a scheme keeps between calls (Ok-Topk's regions); empty at first. The caller holds one
// per bucket. It changes identically on all ranks.
struct SchemeMemory {
  std::uint64_t num_calls = 0;
  std::vector<std::uint64_t> region_bounds;
};

// The sum, in the form in which the scheme ends.
using Reduced = std::variant<SparseVector, DenseVector>;

class Scheme {
 public:
  virtual ~Scheme() = default;
  virtual std::string_view name() const = 0;  // "balanced_parallelism": as on the command line
  virtual std::string_view description() const = 0;  // one line

  // Whether ranks pass their parts to the aggregator given to allreduce(). Then the aggregator's
  // speed is part of the time of a call.
  virtual bool uses_aggregator() const { return false; }

  // Empty if it can run; otherwise why not (a domain too large to be dense, ...).
  virtual std::string refusal(const Problem& problem) const = 0;

  // Expected cost; monotone in every count of `problem`.
  virtual Cost cost(const Problem& problem, const LinkModel& link,
                    const ComputeModel& compute) const = 0;

  // Every rank of the communicator calls it with its own vector, and the same scheme, settings and
  // domain. Every rank returns the same bits.
  virtual Reduced allreduce(Communicator& ranks, SparseVector own, const SchemeSettings& settings,
                            SchemeMemory& memory, Aggregator& aggregator) const = 0;
};

// All schemes of this build, in the order of the documentation.
std::span<const Scheme* const> all_schemes();

// Throws Error naming the known ones.
const Scheme& scheme_by_name(std::string_view name);

}  // namespace tandem::collectives
