// SPDX-License-Identifier: Apache-2.0
//
// What every transport must do, as checks that all ranks of a group run together.
//
// Each rank makes a Conformance of its own transport and calls the same checks in the same order;
// tags are counted on, so that messages of one check never meet those of another. A check throws
// ConformanceError naming the rank and what differs; it needs no test framework, so that programs
// under mpirun can run it too. Contents depend on source, destination and tag: a message that
// arrives at the wrong place, cut or mixed is seen. Threads: one per Conformance.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include "transport/transport.h"

namespace tandem::test {

class ConformanceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Conformance {
 public:
  explicit Conformance(transport::Transport& transport,
                       Deadline deadline = Deadline::after(std::chrono::seconds(240)));

  void names();                           // kind and node name, and that ranks agree on kind
  void sizes(std::size_t largest_bytes);  // 0, 1, ..., 8 MiB, largest, to the next rank
  void all_to_all_of_distinct_sizes();    // every pair another size, zero included
  void overlapping_exchanges();           // many in flight, taken in reverse
  void one_payload_to_several();          // shared bytes, different tags
  void early_messages();                  // sent before the receiver asks, taken out of order
  void lopsided_steps();                  // ranks that only send, only receive, or do nothing
  void dropped_messages();                // finish() without next() loses only those
  void counters();                        // bytes, messages and steps, per peer

  // All of the above.
  void everything(std::size_t largest_bytes = std::size_t{64} << 20);

 private:
  using Outgoing = transport::Outgoing;
  using Source = transport::Source;
  using Tag = transport::Tag;

  int world() const { return transport_.world(); }
  int rank() const { return transport_.rank(); }
  int at_distance(int distance) const {
    return ((rank() + distance) % world() + world()) % world();
  }
  Outgoing outgoing(int to, std::size_t bytes, Tag tag) const;
  void expect_message(const transport::Incoming& message, std::size_t bytes, Tag tag) const;
  // Takes all messages of `exchange`; sizes[peer] is what each must have.
  void take_all(transport::Exchange& exchange, const std::vector<std::size_t>& sizes, Tag tag,
                std::size_t expected_messages) const;
  void expect(bool holds, const std::string& what) const;

  transport::Transport& transport_;
  Deadline deadline_;
  Tag next_tag_ = 0;
};

}  // namespace tandem::test
