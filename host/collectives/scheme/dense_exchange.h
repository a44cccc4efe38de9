// SPDX-License-Identifier: Apache-2.0
//
// Dense ranges in messages, and the all-reduce by recursive halving and doubling.
//
// A dense message holds only the values of a range of units in the wire type. Both sides know its
// length; any other length is garbage. Ranges are as equal as units allow. Numerics: partial sums
// travel in the accumulation type (partial_type). One rank computes the last sum of a unit. It
// rounds the sum to the wire type and keeps the rounded value itself, so all ranks hold the same
// bits. Threads: any.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "collectives/frames/communicator.h"
#include "collectives/scheme/cost_model.h"
#include "collectives/scheme/received.h"
#include "collectives/scheme/scheme.h"

namespace tandem::collectives {

struct UnitRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  std::uint64_t size() const { return end - begin; }
};

// Part `part` of `num_parts` of `num_units` units; sizes differ by one at most.
UnitRange even_range(std::uint64_t num_units, int part, int num_parts);

DenseVector to_dense(const SparseVector& vector, Reduction reduction);

// A message with the units of `range`.
ByteBuffer dense_message(const DenseVector& dense, UnitRange range, DType wire);
void append_dense(const DenseVector& dense, UnitRange range, DType wire, ByteBuffer& message);

// Takes the next values of a message, those of `range`: dense = values, or dense = reduce(dense,
// values).
void store_dense(MessageReader& message, UnitRange range, DType wire, DenseVector& dense);
void reduce_dense(MessageReader& message, UnitRange range, const SchemeSettings& settings,
                  DenseVector& dense);
// The same for a message that contains nothing else.
void store_dense_message(MessageReader message, UnitRange range, DType wire, DenseVector& dense);
void reduce_dense_message(MessageReader message, UnitRange range, const SchemeSettings& settings,
                          DenseVector& dense);

// into[i] = reduce(into[i], from[i]).
void reduce_into(DenseVector& into, const DenseVector& from, Reduction reduction);

// The complete sums of `range` over `world` ranks: divided for a mean, then rounded to the wire
// type.
void finish_sum(DenseVector& dense, UnitRange range, const SchemeSettings& settings, int world);

// Returns the problem with the values of `range` after a message was stored there; empty: none.
using DenseCheck = std::function<std::string(const DenseVector& dense, UnitRange range)>;

// All-reduce in place by recursive halving and doubling. The world may have any size: ranks beyond
// a power of two give their values to another rank first and get the sums at the end ("folded").
// `settings`: wire and reduction. Steps: 2 log2(ranks that are not folded), and 2 more where ranks
// are folded. `check` runs after every message. If it finds a problem, the sender of the message is
// rejected.
void halving_doubling(Communicator& ranks, DenseVector& dense, const SchemeSettings& settings,
                      const DenseCheck& check = {});

// All-reduce in place around a ring, in 2 (n - 1) steps: see dense_ring.cpp.
void ring(Communicator& ranks, DenseVector& dense, const SchemeSettings& settings);

// Adds the cost of halving_doubling() on `units` units.
void add_halving_doubling(const Problem& problem, double units, CostSum& sum);

// The reason why a scheme that holds the whole domain densely cannot run on sparse tensors; empty
// if it can. max_refusal: the same for max, in a scheme that holds `what` densely.
std::string dense_refusal(const Problem& problem);
std::string max_refusal(Reduction reduction, const std::string& what);

}  // namespace tandem::collectives
