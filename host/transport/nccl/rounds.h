// SPDX-License-Identifier: Apache-2.0
//
// Rounds: moves the messages of one rank over one NCCL communicator.
//
// post() and expect() only record messages; run() makes one round. In a round every pair of ranks
// transfers at most one message each way, the first one posted. Both ends therefore know the
// messages of the round, however many they have recorded. Messages are kept by (peer, tag) until
// taken. Cost of a round: 2 copies, 1 group launch (or 1 kernel over symmetric windows) and 1 wait;
// the same again for messages over 16 KiB. Threads: one for all calls but abort(). Errors:
// TransportError, after which every call throws.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/nccl_library.h"
#include "transport/nccl/nccl.h"
#include "transport/nccl/staging.h"
#include "transport/nccl/symmetric_path.h"
#include "transport/transport.h"

namespace tandem::transport::nccl {

class Rounds {
 public:
  // Takes the communicator; `comm` may still be initialising: waits until the options' deadline.
  Rounds(ncclComm_t comm, const Options& options);
  ~Rounds();
  Rounds(const Rounds&) = delete;
  Rounds& operator=(const Rounds&) = delete;

  // *unsent counts down when the message has left.
  void post(Outgoing message, std::shared_ptr<int> unsent);
  void expect(const Source& source);
  bool arrived(const Source& source) const { return arrived_.count({source.peer, source.tag}) > 0; }
  std::optional<Payload> take(const Source& source);

  void run(Deadline deadline);

  void abort(const std::string& reason) noexcept;
  bool broken() const { return broken_.load(); }
  void throw_if_broken();

  // The communicator of the ranks that are not excluded; this one cannot be used any more.
  ncclComm_t shrink(std::vector<int> excluded, Deadline deadline);

 private:
  struct Sent {
    Outgoing message;
    std::shared_ptr<int> unsent;
  };
  using Transfer = SymmetricPath::Part;  // in the staging buffers

  // The messages of one round; rest_ holds the remaining bytes of long messages, one after the
  // other.
  struct Round {
    std::vector<Transfer> sends, receives, long_sends, long_receives;
    std::vector<std::pair<std::pair<int, Tag>, ByteBuffer>> messages;  // of receives
    std::size_t rest_bytes = 0;

    void add_rest(std::vector<Transfer>& transfers, int peer, std::size_t bytes) {
      transfers.push_back({peer, rest_bytes, bytes});
      rest_bytes += (bytes + 15) / 16 * 16;
    }
  };

  const Outgoing& front(int peer) const;
  Round choose();
  void write_pieces(Round& round);
  void read_pieces(Round& round);
  void keep(Round& round);
  void wait_until_ready(ncclComm_t comm, Deadline deadline);
  void move(Staging& staging, const std::vector<Transfer>& sends,
            const std::vector<Transfer>& receives, Deadline deadline);
  void launch_group(Staging& staging, const std::vector<Transfer>& sends,
                    const std::vector<Transfer>& receives, Deadline deadline);
  void check_nccl(ncclResult_t result);
  void check_progress(ncclComm_t comm, Deadline deadline);
  [[noreturn]] void fail(TransportError::Kind kind, const std::string& what, int peer = -1);

  const NcclLibrary& library_;
  ncclComm_t comm_;
  int device_index_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t event_ = nullptr;
  std::unique_ptr<SymmetricPath> symmetric_;  // null: by groups of sends and receives
  Staging first_, rest_;
  std::vector<std::deque<Sent>> outgoing_;  // [world]
  std::set<std::pair<int, Tag>> expected_;
  std::map<std::pair<int, Tag>, Payload> arrived_;
  std::string waited_for_;  // the peers of the round, for errors
  std::atomic<bool> broken_{false};
  std::mutex reason_mutex_;
  std::string reason_;
};

}  // namespace tandem::transport::nccl
