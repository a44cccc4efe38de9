// SPDX-License-Identifier: Apache-2.0
//
// OmniReduce: only blocks of 256 values with an entry are sent; aggregators stream through them.
//
// A worker announces the next non-zero block of every stream. The aggregator advances each stream
// to the lowest block over workers, adds this block of the workers that have it, and multicasts the
// sum with the number of the next block, until all streams are at infinity. Numerics: blocks are
// added in rank order; a sum is rounded to the wire type before it is sent. No max: a block cannot
// distinguish an absent unit from -infinity. Source: Fei et al., Efficient sparse collective
// communication and its application to accelerate distributed deep learning, SIGCOMM 2021,
// algorithms 1 and 2.
#include <algorithm>
#include <cmath>

#include "collectives/scheme/omnireduce_blocks.h"
#include "collectives/scheme/omnireduce_streaming.h"
#include "collectives/scheme/received.h"
#include "collectives/scheme/schemes.h"

namespace tandem::collectives {
namespace {

// Expected course of the protocol, per aggregator.
struct Course {
  double streams = 1;
  double own_blocks = 0;  // of one worker
  double union_blocks = 0;
  double block_bytes = 0;    // on the wire, with the next block's number
  double stream_length = 0;  // blocks, zero or not
  double longest_of = 1;     // streams of all aggregators

  explicit Course(const Problem& problem) {
    const BlockLayout layout(problem.domain, problem.world);
    const double n = problem.world;
    const auto blocks = static_cast<double>(layout.num_blocks());
    const double max_streams = BlockLayout::max_streams(problem.world);
    streams = std::max(1.0, std::min(std::ceil(blocks / n), max_streams));
    own_blocks = union_of(problem.union_blocks, 1) / n;
    union_blocks = union_of(problem.union_blocks, n) / n;
    block_bytes = sizeof(std::uint64_t) + (blocks > 0 ? problem.dense_bytes() / blocks : 0);
    stream_length = std::ceil(blocks / n / streams);
    longest_of = n * streams;
  }

  double halves() const { return std::min(2.0, streams); }

  // The mean length of a stream in the union and, since the longest counts, what a random support
  // adds to it; at most the stream's length.
  double rounds(double imbalance) const {
    const double mean = union_blocks * imbalance / streams;
    return std::min(stream_length, mean + std::sqrt(2 * mean * std::log(longest_of)));
  }

  // Probability that a worker has any of a half's blocks in flight.
  double taking_part() const {
    if (union_blocks <= 0) return 0;
    return 1 - std::pow(1 - std::min(1.0, own_blocks / union_blocks), streams / halves());
  }
};

// One direction: `frames` messages with `blocks` blocks between two ranks.
PhaseCost direction_cost(const Problem& problem, const Course& course, double frames, double blocks,
                         double imbalance) {
  const double peers = problem.world - 1;
  const auto bytes = [&](double num_blocks) {
    return frames * kFrameBytes + course.streams * sizeof(std::uint64_t) +
           num_blocks * course.block_bytes;
  };
  PhaseCost phase;
  phase.steps = 1 + course.rounds(std::max(problem.even_block_push_imbalance,
                                           problem.even_block_pull_imbalance));
  phase.messages = peers * frames;
  phase.sent = phase.received = peers * bytes(blocks * imbalance);
  phase.total = problem.world * peers * bytes(blocks);
  phase.total_messages = problem.world * phase.messages;
  phase.inside = peers_inside(problem);
  return phase;
}

// Every rank is worker and aggregator. Aggregators own even ranges of blocks, in up to 256 streams
// (omnireduce_blocks.h). Steps: 2 (rounds + 1) in sequence, rounds = the blocks of the longest
// stream in the union. Two halves of the streams alternate in flight (the double buffer), so twice
// as many steps start. Bytes, with blocks of 256 values and 8 bytes of next:
//   sent by worker i:     its blocks of others' ranges; a frame per aggregator, half and round
//   sent by aggregator a: (n - 1) times the union's blocks of its range; the same frames
//   once: 8 bytes per stream each way (announcements)
// Balance: none between aggregators when blocks cluster; streams of a range balance. Differences
// from the paper: one message carries all streams of a half, not one packet per slot. A first round
// announces without data, where the paper sends each stream's first block, zero or not. The
// transport is reliable, so nothing is sent twice. `codec` is not used.
class OmniReduce final : public Scheme {
 public:
  std::string_view name() const override { return "omnireduce"; }
  std::string_view description() const override {
    return "OmniReduce: non-zero blocks, streamed through aggregators";
  }
  std::string refusal(const Problem& problem) const override {
    return max_refusal(problem.reduction, "its blocks");
  }

  Cost cost(const Problem& problem, const LinkModel& link,
            const ComputeModel& compute) const override {
    const Course course(problem);
    CostSum sum(problem, link);
    if (problem.world > 1 && course.stream_length > 0) {
      const double pushes = course.halves() * (1 + course.rounds(1) * course.taking_part());
      const double pulls = course.halves() * (1 + course.rounds(1));
      sum.add(direction_cost(problem, course, pushes, course.own_blocks,
                             problem.even_block_push_imbalance));
      sum.add(direction_cost(problem, course, pulls, course.union_blocks,
                             problem.even_block_pull_imbalance));
    }
    const double value_bytes = static_cast<double>(dtype_block_bytes(problem.wire));
    const double values = (course.block_bytes - sizeof(std::uint64_t)) / value_bytes;
    const double blocks =
        course.own_blocks * (1 + problem.even_block_push_imbalance) + course.union_blocks;
    sum.compute(problem.world * blocks * std::max(0.0, values) * compute.dense_s_per_value);
    return sum.result();
  }

  Reduced allreduce(Communicator& ranks, SparseVector own, const SchemeSettings& settings,
                    SchemeMemory&, Aggregator&) const override {
    round_as_sent(own, settings);
    return stream_blocks(ranks, own, settings);
  }
};

}  // namespace

const Scheme& omnireduce() {
  static const OmniReduce scheme;
  return scheme;
}

}  // namespace tandem::collectives
