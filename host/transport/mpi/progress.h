// SPDX-License-Identifier: Apache-2.0
//
// Progress: all transfers of one communicator; every poll() advances all of them.
//
// Sends are MPI_Isend of the payload itself. Arrivals are taken with MPI_Improbe from any rank, so
// a receiver need not know sizes, and can receive a message of a later step while it waits for an
// earlier one. Ownership: payloads until sent; transfers still in flight at the end move to a
// graveyard that the process never frees, because MPI may still read or write it. Threads: any; the
// functions take the lock of all MPI calls.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "transport/mpi/checked.h"
#include "transport/transport.h"

namespace tandem::transport::mpi {

class Progress {
 public:
  // Owns `communicator`. `mpi`: the lock of all MPI calls.
  Progress(MPI_Comm communicator, std::mutex& mpi, std::size_t max_part_bytes);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Starts sending; the result names these sends in unsent_peer() and forget(). A message above the
  // part limit is announced by its size (8 bytes) and follows in parts, which MPI delivers in
  // order. MPI tags: 1 abort; 2 + 2 tag a whole message; 3 + 2 tag the size and the parts of a cut
  // one.
  std::uint64_t send(std::vector<Outgoing> sends);

  // Advances all transfers once; true if any changed. Once broken (an error of MPI, an abort of any
  // rank, a deadline) every call throws the reason.
  bool poll();

  // The message of `source` if it has arrived whole; it is then removed.
  std::optional<Payload> take(const Source& source);
  // Discards the message of `source`, also if it arrives later.
  void drop(const Source& source);

  // A peer that has not got its message of `sends` yet; nullopt: all have left.
  std::optional<int> unsent_peer(std::uint64_t sends);
  void forget(std::uint64_t sends);

  // Breaks the group here with `error`; the first error stays.
  void fail(const TransportError& error);
  // Breaks the group here and tells the peers, unless some rank has told them already.
  void abort(const std::string& reason) noexcept;

 private:
  using Key = std::pair<int, Tag>;  // peer, folded tag
  struct Arrival {
    ByteBuffer bytes;
    std::size_t bytes_asked = 0;  // parts matched so far reach to here
    std::size_t parts_open = 0;   // receives in flight
    bool discard = false;
    bool complete() const { return parts_open == 0 && bytes_asked == bytes.size(); }
  };
  struct Record {  // the transfer of requests_[i]
    int peer = -1;
    Payload payload;          // of a send
    std::uint64_t sends = 0;  // of a send; 0: no caller waits for it
    Arrival* arrival = nullptr;
  };
  struct AbandonedRequests;

  int folded(Tag tag) const { return static_cast<int>(tag & tag_mask_); }
  void throw_if_broken() const;
  bool accept_one();
  void accept(MPI_Message message, const MPI_Status& status);
  void accept_abort(MPI_Message message, int peer, int bytes);
  void receive(MPI_Message message, Arrival& arrival, int peer, int bytes);
  Arrival& new_arrival(const Key& key);
  bool complete_some();
  void sweep();
  void complete(std::size_t at);
  void isend(const Payload& keep, std::span<const std::byte> bytes, int peer, int mpi_tag,
             std::uint64_t sends);
  void tell_peers(const Payload& text);
  bool abort_told();

  MPI_Comm communicator_;
  std::mutex& mpi_;
  std::size_t max_part_bytes_;
  Tag tag_mask_ = 0;
  int rank_ = 0;
  int world_ = 1;

  std::vector<MPI_Request> requests_;
  std::vector<Record> records_;  // parallel to requests_
  std::vector<int> indices_;     // of MPI_Testsome
  std::vector<MPI_Status> statuses_;
  std::map<Key, std::deque<Arrival>> arrivals_;  // in the order sent; a deque's items stay put
  std::map<Key, int> unwanted_;
  std::uint64_t last_sends_ = 0;
  std::unordered_map<std::uint64_t, std::vector<int>> unsent_;  // peers, one entry per MPI message
  std::optional<TransportError> broken_;
  bool peers_know_ = false;
  bool has_discarded_ = false;  // some arrival to sweep once it is complete
};

}  // namespace tandem::transport::mpi
