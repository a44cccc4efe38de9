// SPDX-License-Identifier: Apache-2.0
//
// A round of a half: contributions to all aggregators, aggregation of the own range, sums from all
// aggregators. Both sides know from the announcements who sends in a round, so no message is empty
// and no rank waits for one that does not come. What a peer announces is held to its stream and
// must grow, so a round trip through garbage ends.
#include "collectives/scheme/omnireduce_streaming.h"

#include <algorithm>
#include <array>
#include <optional>

#include "collectives/scheme/omnireduce_blocks.h"
#include "collectives/scheme/received.h"

namespace tandem::collectives {
namespace {

constexpr std::array<const char*, 2> kContributePhases = {"blocks, first half",
                                                          "blocks, second half"};
constexpr std::array<const char*, 2> kResultPhases = {"sums, first half", "sums, second half"};

class Streaming {
 public:
  // Borrows `own`, which is rounded to the wire type.
  Streaming(Communicator& ranks, const SparseVector& own, const SchemeSettings& settings);

  SparseVector run();

 private:
  using Blocks = std::vector<std::uint64_t>;  // [streams]

  // As worker and as aggregator.
  void start_contributions(int half);
  void aggregate(int half);
  void take_results(int half);

  void contribute_to(int aggregator, int half, ByteBuffer& message);
  std::vector<int> contributors(int half) const;
  ByteBuffer announced(int half, const std::vector<std::optional<Message>>& messages);
  ByteBuffer reduced_round(int half, const std::vector<std::optional<Message>>& messages);
  void add_contribution(int half, int worker, const std::optional<Message>& message);
  void read_result(int half, const Message& message);

  // Calls body(stream) for the streams of the half.
  template <typename Body>
  void for_streams(int aggregator, int half, Body&& body) const {
    for (int stream = half; stream < layout_.num_streams(aggregator); stream += 2) body(stream);
  }
  std::uint64_t& current(int aggregator, int stream) {
    return current_[static_cast<std::size_t>(aggregator)][static_cast<std::size_t>(stream)];
  }
  bool open(int aggregator, int half) const {
    return open_[static_cast<std::size_t>(half)][static_cast<std::size_t>(aggregator)] != 0;
  }
  void update_open(int aggregator, int half);
  bool any_open() const;
  std::uint64_t least_next(int stream) const;
  UnitRange slot(int stream, std::uint64_t block) const {
    const std::uint64_t begin = static_cast<std::uint64_t>(stream) * layout_.units_per_block();
    return {begin, begin + layout_.units_of(block).size()};
  }

  Communicator& ranks_;
  const SchemeSettings& settings_;
  int me_;
  BlockLayout layout_;
  OwnBlocks own_;
  ReducedBlocks reduced_;
  DenseVector scratch_;                           // one block
  DenseVector sums_;                              // a block per stream of the own aggregator
  std::vector<Blocks> current_;                   // [aggregators, streams] block in flight
  std::vector<Blocks> next_;                      // [workers, streams] of the own aggregator
  std::array<std::vector<char>, 2> open_;         // [aggregators] whether the half has blocks left
  std::array<bool, 2> started_ = {false, false};  // the announcements are over
  std::array<std::optional<Step>, 2> steps_;
};

Streaming::Streaming(Communicator& ranks, const SparseVector& own, const SchemeSettings& settings)
    : ranks_(ranks),
      settings_(settings),
      me_(ranks.rank()),
      layout_(own.domain(), ranks.world()),
      own_(own, layout_),
      reduced_(layout_, own.type(), settings.reduction),
      scratch_({layout_.units_per_block(), own.domain().width}, own.type(), settings.reduction) {
  const auto streams = static_cast<std::uint64_t>(layout_.num_streams(me_));
  sums_ = DenseVector({streams * layout_.units_per_block(), own.domain().width}, own.type(),
                      settings.reduction);
  for (int rank = 0; rank < ranks.world(); ++rank) {
    current_.emplace_back(static_cast<std::size_t>(layout_.num_streams(rank)), kNoBlock);
    next_.emplace_back(streams, kNoBlock);
    for (const int half : {0, 1}) {
      open_[static_cast<std::size_t>(half)].push_back(layout_.num_streams(rank) > half);
    }
  }
}

void Streaming::update_open(int aggregator, int half) {
  bool left = false;
  for_streams(aggregator, half,
              [&](int stream) { left = left || current(aggregator, stream) != kNoBlock; });
  open_[static_cast<std::size_t>(half)][static_cast<std::size_t>(aggregator)] = left;
}

bool Streaming::any_open() const {
  const auto is_open = [](char open) { return open != 0; };
  return std::ranges::any_of(open_[0], is_open) || std::ranges::any_of(open_[1], is_open);
}

std::uint64_t Streaming::least_next(int stream) const {
  std::uint64_t least = kNoBlock;
  for (const Blocks& worker : next_) {
    least = std::min(least, worker[static_cast<std::size_t>(stream)]);
  }
  return least;
}

// Appends what the caller has for the aggregator in this round, if anything.
void Streaming::contribute_to(int aggregator, int half, ByteBuffer& message) {
  const bool announcing = !started_[static_cast<std::size_t>(half)];
  for_streams(aggregator, half, [&](int stream) {
    const std::uint64_t block = own_.next(aggregator, stream);
    if (announcing) {
      append_value(message, block);
    } else if (block != kNoBlock && block == current(aggregator, stream)) {
      own_.take(aggregator, stream, settings_.reduction, scratch_);
      append_value(message, own_.next(aggregator, stream));
      append_dense(scratch_, {0, layout_.units_of(block).size()}, settings_.wire, message);
    }
  });
}

// The workers that have announced a block which is in flight at this rank's aggregator.
std::vector<int> Streaming::contributors(int half) const {
  std::vector<int> workers;
  if (!open(me_, half)) return workers;
  for (int distance = 1; distance < ranks_.world(); ++distance) {
    const int worker = (me_ + ranks_.world() - distance) % ranks_.world();
    const Blocks& next = next_[static_cast<std::size_t>(worker)];
    const Blocks& current = current_[static_cast<std::size_t>(me_)];
    bool contributes = !started_[static_cast<std::size_t>(half)];
    for_streams(me_, half, [&](int stream) {
      const auto at = static_cast<std::size_t>(stream);
      contributes = contributes || (current[at] != kNoBlock && next[at] == current[at]);
    });
    if (contributes) workers.push_back(worker);
  }
  return workers;
}

void Streaming::start_contributions(int half) {
  const char* phase = kContributePhases[static_cast<std::size_t>(half)];
  std::vector<Outgoing> sends;
  for (int distance = 1; distance < ranks_.world(); ++distance) {
    const int aggregator = (me_ + distance) % ranks_.world();
    if (!open(aggregator, half)) continue;
    ByteBuffer message = new_message();
    contribute_to(aggregator, half, message);
    if (message.size() == kFrameBytes) continue;
    sends.push_back({aggregator, ranks_.seal(phase, std::move(message), aggregator)});
  }
  std::vector<int> sources = contributors(half);
  auto& step = steps_[static_cast<std::size_t>(half)];
  step.reset();
  if (!sends.empty() || !sources.empty()) {
    step.emplace(ranks_.start(phase, std::move(sends), std::move(sources)));
  }
}

void Streaming::aggregate(int half) {
  auto& step = steps_[static_cast<std::size_t>(half)];
  std::vector<std::optional<Message>> messages(static_cast<std::size_t>(ranks_.world()));
  if (step) {
    while (auto message = step->next()) {
      const auto source = static_cast<std::size_t>(message->source());
      messages[source] = std::move(message);
    }
    step->finish();
    step.reset();
  }
  const char* phase = kResultPhases[static_cast<std::size_t>(half)];
  std::vector<Outgoing> sends;
  std::vector<int> sources;
  if (open(me_, half)) {
    ByteBuffer message = started_[static_cast<std::size_t>(half)] ? reduced_round(half, messages)
                                                                  : announced(half, messages);
    update_open(me_, half);
    const Payload payload = ranks_.seal(phase, std::move(message));
    for (int distance = 1; distance < ranks_.world(); ++distance) {
      sends.push_back({(me_ + distance) % ranks_.world(), payload});
    }
  }
  for (int distance = 1; distance < ranks_.world(); ++distance) {
    const int aggregator = (me_ + ranks_.world() - distance) % ranks_.world();
    if (open(aggregator, half)) sources.push_back(aggregator);
  }
  if (!sends.empty() || !sources.empty()) {
    step.emplace(ranks_.start(phase, std::move(sends), std::move(sources)));
  }
}

// The first round at the aggregator: where every stream begins.
ByteBuffer Streaming::announced(int half, const std::vector<std::optional<Message>>& messages) {
  for (int worker = 0; worker < ranks_.world(); ++worker) {
    Blocks& next = next_[static_cast<std::size_t>(worker)];
    if (worker == me_) {
      for_streams(me_, half, [&](int stream) {
        next[static_cast<std::size_t>(stream)] = own_.next(me_, stream);
      });
      continue;
    }
    MessageReader reader(ranks_, kContributePhases[static_cast<std::size_t>(half)],
                         *messages[static_cast<std::size_t>(worker)]);
    for_streams(me_, half, [&](int stream) {
      const auto block = reader.value<std::uint64_t>();
      if (!layout_.follows(me_, stream, kNoBlock, block))
        reader.reject("a block of another stream");
      next[static_cast<std::size_t>(stream)] = block;
    });
    reader.expect_end();
  }
  ByteBuffer result = new_message();
  for_streams(me_, half, [&](int stream) {
    current(me_, stream) = least_next(stream);
    append_value(result, current(me_, stream));
  });
  return result;
}

void Streaming::add_contribution(int half, int worker, const std::optional<Message>& message) {
  Blocks& next = next_[static_cast<std::size_t>(worker)];
  std::optional<MessageReader> reader;
  if (message) {
    reader.emplace(ranks_, kContributePhases[static_cast<std::size_t>(half)], *message);
  }
  for_streams(me_, half, [&](int stream) {
    const std::uint64_t block = current(me_, stream);
    std::uint64_t& following = next[static_cast<std::size_t>(stream)];
    if (block == kNoBlock || following != block) return;
    const UnitRange place = slot(stream, block);
    if (worker == me_) {
      own_.take(me_, stream, settings_.reduction, scratch_);
      following = own_.next(me_, stream);
      reduce_units(sums_, place, scratch_, settings_.reduction);
      return;
    }
    following = reader->value<std::uint64_t>();
    if (!layout_.follows(me_, stream, block, following)) {
      reader->reject("a block of another stream, or an earlier one");
    }
    reduce_dense(*reader, place, settings_, sums_);
  });
  if (reader) reader->expect_end();
}

// A later round at the aggregator: the sums of the blocks in flight, and which come next.
ByteBuffer Streaming::reduced_round(int half, const std::vector<std::optional<Message>>& messages) {
  for_streams(me_, half, [&](int stream) {
    const std::uint64_t block = current(me_, stream);
    if (block != kNoBlock) clear_units(sums_, slot(stream, block), settings_.reduction);
  });
  for (int worker = 0; worker < ranks_.world(); ++worker) {
    add_contribution(half, worker, messages[static_cast<std::size_t>(worker)]);
  }
  ByteBuffer result = new_message();
  for_streams(me_, half, [&](int stream) {
    const std::uint64_t block = current(me_, stream);
    if (block == kNoBlock) return;
    const UnitRange place = slot(stream, block);
    current(me_, stream) = least_next(stream);
    append_value(result, current(me_, stream));
    finish_sum(sums_, place, settings_, ranks_.world());
    append_dense(sums_, place, settings_.wire, result);
    reduced_.add(block, sums_, place.begin);
  });
  return result;
}

void Streaming::read_result(int half, const Message& message) {
  MessageReader reader(ranks_, kResultPhases[static_cast<std::size_t>(half)], message);
  const int aggregator = message.source();
  for_streams(aggregator, half, [&](int stream) {
    std::uint64_t& block = current(aggregator, stream);
    if (started_[static_cast<std::size_t>(half)] && block == kNoBlock) return;
    const auto following = reader.value<std::uint64_t>();
    if (!layout_.follows(aggregator, stream, block, following) ||
        following > own_.next(aggregator, stream)) {
      reader.reject("a block of another stream, or beyond the next one");
    }
    if (block != kNoBlock) {
      store_dense(reader, {0, layout_.units_of(block).size()}, settings_.wire, scratch_);
      reduced_.add(block, scratch_, 0);
    }
    block = following;
  });
  reader.expect_end();
  update_open(aggregator, half);
}

void Streaming::take_results(int half) {
  auto& step = steps_[static_cast<std::size_t>(half)];
  if (step) {
    while (const auto message = step->next()) read_result(half, *message);
    step->finish();
    step.reset();
  }
  started_[static_cast<std::size_t>(half)] = true;
}

SparseVector Streaming::run() {
  while (any_open()) {
    for (const int half : {0, 1}) start_contributions(half);
    for (const int half : {0, 1}) aggregate(half);
    for (const int half : {0, 1}) take_results(half);
  }
  return reduced_.result();
}

}  // namespace

SparseVector stream_blocks(Communicator& ranks, const SparseVector& own,
                           const SchemeSettings& settings) {
  return Streaming(ranks, own, settings).run();
}

}  // namespace tandem::collectives
