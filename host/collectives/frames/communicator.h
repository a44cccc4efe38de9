// SPDX-License-Identifier: Apache-2.0
//
// Communicator: the interface of a group for schemes: numbered ranks and checked steps.
//
// Every message has a frame (24 bytes: magic, destination, call, number, length, XXH3 of these,
// phase and body). So a message of another call or phase or for another rank, a repeated or
// truncated message, or a flipped bit is an error that names rank and phase, never a wrong sum.
// Messages are numbered per pair of ranks: the k-th that a sends to b is the k-th that b receives
// from a; beyond that ranks need not make the same steps. Steps may overlap. Ownership: borrows the
// transport. Threads: one. Errors: TransportError; the caller of the scheme aborts the group.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "collectives/frames/vocabulary.h"
#include "common/deadline.h"

namespace tandem::collectives {

constexpr std::size_t kFrameBytes = 24;

// Begins a message: reserves room for the frame. The caller appends the body.
ByteBuffer new_message(std::size_t reserve_body_bytes = 0);

// A message that was received and checked.
class Message {
 public:
  Message(int source, Payload payload) : source_(source), payload_(std::move(payload)) {}
  int source() const { return source_; }  // rank in the communicator
  std::span<const std::byte> body() const { return payload_.bytes().subspan(kFrameBytes); }

 private:
  int source_;
  Payload payload_;
};

class Step;

class Communicator {
 public:
  // Contains all ranks of `transport`. They must fail together: a GroupTransport, or kGroup set by
  // the owner. `call`: number of the collective call, equal on all ranks.
  Communicator(Transport& transport, std::uint32_t call, Deadline deadline);

  int rank() const { return rank_; }
  int world() const { return static_cast<int>(ranks_.size()); }
  Deadline deadline() const { return deadline_; }

  // Seals `message` (made by new_message) for `phase`. Without `to` the same payload may go to
  // several peers; with it, any other rank rejects the message.
  Payload seal(const char* phase, ByteBuffer&& message, int to = -1) const;

  // One step; `sends` hold payloads sealed for `phase` (tags are set here), `sources` are ranks.
  // `phase` names it in errors and must outlive the step, as must the communicator.
  Step start(const char* phase, std::vector<Outgoing> sends, std::vector<int> sources);

  // The common steps, each blocking until done; bodies are made by new_message().
  Message send_receive(const char* phase, int to, ByteBuffer&& message, int from);
  void send(const char* phase, int to, ByteBuffer&& message);
  Message receive(const char* phase, int from);
  // Sends by_rank[r] to rank r; result[r] came from rank r. This rank's own entry is not sent, and
  // result[rank] is empty.
  std::vector<std::optional<Message>> all_to_all(const char* phase,
                                                 std::vector<ByteBuffer> by_rank);
  // Sends the message to every other rank. result[r] came from rank r; result[rank] is empty.
  std::vector<std::optional<Message>> all_gather(const char* phase, ByteBuffer&& message);

  // The communicator of `members` (ascending ranks, the caller among them), which take their order
  // as ranks. Only the members call it; it may be used alternately with its parent.
  Communicator subgroup(std::vector<int> members) const;

  // Sets a note about waits that is appended to the texts of errors from now on; empty: none.
  void annotate(std::string note) { note_ = std::move(note); }

  // Aborts the transport and throws kGarbage naming `source`, the phase and what is wrong.
  [[noreturn]] void reject(const char* phase, int source, const std::string& what) const;

 private:
  friend class Step;
  Communicator() = default;
  // Rejects bytes that are not a message of this call, phase and source for this rank, and messages
  // that were received before.
  void verify(const char* phase, int source, std::span<const std::byte> bytes) const;
  // Aborts the transport and throws `error` with the phase in its text.
  [[noreturn]] void fail(const char* phase, const TransportError& error) const;
  int global(int rank) const { return ranks_[static_cast<std::size_t>(rank)]; }

  Transport* transport_ = nullptr;
  std::vector<int> ranks_;  // [world] rank of the transport
  int rank_ = 0;
  std::uint32_t call_ = 0;
  struct Numbers {
    std::vector<std::uint32_t> sent, received;  // [world of the transport] messages so far
    std::uint32_t sealed = 0;
    std::unordered_set<std::uint64_t> seen;  // source << 32 | number
  };
  std::shared_ptr<Numbers> numbers_;  // message numbers of the call; shared with subgroups
  Deadline deadline_ = Deadline::never();
  std::string note_;
};

// A step in flight. Take every message, then finish(); destroying it earlier aborts the transport.
class Step {
 public:
  Step(Step&&) noexcept;
  Step& operator=(Step&&) noexcept;
  ~Step();

  std::optional<Message> next();  // the next message, in any order; empty: all were taken
  void finish();

 private:
  friend class Communicator;
  Step() = default;

  const Communicator* communicator_ = nullptr;
  const char* phase_ = "";
  std::unique_ptr<Exchange> exchange_;
  bool finished_ = false;
};

}  // namespace tandem::collectives
