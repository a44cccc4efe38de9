// SPDX-License-Identifier: Apache-2.0
//
// A round: choose, write the first pieces, move them, read sizes, move the rests, keep messages.
#include "transport/nccl/rounds.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <thread>

namespace tandem::transport::nccl {
namespace {

constexpr std::size_t kPieceBytes = 16 * 1024;
constexpr std::uint64_t kMagic = 0x6c63636e646e6174;  // "tandnccl"

struct Header {
  std::uint64_t magic;
  std::uint64_t bytes;
  std::uint32_t tag;
  std::uint32_t reserved;
};
constexpr std::size_t kEagerBytes = kPieceBytes - sizeof(Header);

// Short waits are caught at once; longer ones do not burn a core.
class Backoff {
 public:
  void pause() {
    if (++turn_ < 100) return;
    std::this_thread::sleep_for(std::chrono::microseconds(std::min(turn_ - 99, 200)));
  }

 private:
  int turn_ = 0;
};

}  // namespace

Rounds::Rounds(ncclComm_t comm, const Options& options)
    : library_(*nccl_library()),
      comm_(comm),
      device_index_(options.device_index),
      outgoing_(static_cast<std::size_t>(options.world)) {
  waited_for_ = "all the ranks";
  try {
    wait_until_ready(comm_, options.deadline);
    check_cuda(cudaSetDevice(device_index_), "choosing the device");
    check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
    check_cuda(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "making an event");
    if (options.symmetric) {
      symmetric_ = std::make_unique<SymmetricPath>(
          library_, comm_, SymmetricLayout{options.rank, options.world},
          [&] { wait_until_ready(comm_, options.deadline); });
    }
  } catch (...) {
    library_.comm_abort(comm_);
    if (event_ != nullptr) cudaEventDestroy(event_);
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
    throw;
  }
}

Rounds::~Rounds() {
  cudaSetDevice(device_index_);
  if (symmetric_) {
    if (broken()) symmetric_->end_kernels();
    cudaStreamSynchronize(stream_);
    if (!broken()) symmetric_->leave();
  }
  if (comm_ != nullptr) {
    bool ended = false;
    if (!broken() && library_.comm_finalize(comm_) != ncclInvalidUsage) {
      const auto limit = Deadline::after(std::chrono::seconds(5));
      ncclResult_t state = ncclInProgress;
      for (Backoff backoff; state == ncclInProgress && !limit.expired(); backoff.pause()) {
        if (library_.async_error(comm_, &state) != ncclSuccess) break;
      }
      ended = state == ncclSuccess;
    }
    // abort ends what still runs, so that the buffers may be freed
    if (ended) {
      library_.comm_destroy(comm_);
    } else {
      library_.comm_abort(comm_);
    }
  }
  cudaEventDestroy(event_);
  cudaStreamDestroy(stream_);
}

void Rounds::post(Outgoing message, std::shared_ptr<int> unsent) {
  const auto peer = static_cast<std::size_t>(message.peer);
  outgoing_[peer].push_back({std::move(message), std::move(unsent)});
}

void Rounds::expect(const Source& source) {
  if (!arrived(source)) expected_.insert({source.peer, source.tag});
}

std::optional<Payload> Rounds::take(const Source& source) {
  const auto found = arrived_.find({source.peer, source.tag});
  if (found == arrived_.end()) return std::nullopt;
  Payload payload = std::move(found->second);
  arrived_.erase(found);
  return payload;
}

void Rounds::run(Deadline deadline) {
  throw_if_broken();
  check_cuda(cudaSetDevice(device_index_), "choosing the device");
  Round round = choose();
  write_pieces(round);
  move(first_, round.sends, round.receives, deadline);
  read_pieces(round);
  if (round.rest_bytes > 0) {
    rest_.reserve(round.rest_bytes);
    for (const Transfer& send : round.long_sends) {
      std::memcpy(rest_.host() + send.begin, front(send.peer).payload.bytes().data() + kEagerBytes,
                  send.bytes);
    }
    move(rest_, round.long_sends, round.long_receives, deadline);
  }
  keep(round);
}

const Outgoing& Rounds::front(int peer) const {
  return outgoing_[static_cast<std::size_t>(peer)].front().message;
}

// At most one message to and from every peer.
Rounds::Round Rounds::choose() {
  Round round;
  std::size_t at = 0;
  waited_for_ = "ranks";
  const auto add = [&](std::vector<Transfer>& transfers, int peer) {
    transfers.push_back({peer, at, kPieceBytes});
    at += kPieceBytes;
    waited_for_.append(" ").append(std::to_string(peer));
  };
  const int world = static_cast<int>(outgoing_.size());
  for (int peer = 0; peer < world; ++peer) {
    if (!outgoing_[static_cast<std::size_t>(peer)].empty()) add(round.sends, peer);
  }
  for (int peer = 0; peer < world; ++peer) {
    const auto first = expected_.lower_bound({peer, 0});
    if (first != expected_.end() && first->first == peer) add(round.receives, peer);
  }
  first_.reserve(at);
  return round;
}

void Rounds::write_pieces(Round& round) {
  for (const Transfer& send : round.sends) {
    const Outgoing& message = front(send.peer);
    const auto bytes = message.payload.bytes();
    const Header header{kMagic, bytes.size(), message.tag, 0};
    std::memcpy(first_.host() + send.begin, &header, sizeof(header));
    if (!bytes.empty()) {
      std::memcpy(first_.host() + send.begin + sizeof(header), bytes.data(),
                  std::min(bytes.size(), kEagerBytes));
    }
    if (bytes.size() > kEagerBytes) {
      round.add_rest(round.long_sends, send.peer, bytes.size() - kEagerBytes);
    }
  }
}

void Rounds::read_pieces(Round& round) {
  for (const Transfer& receive : round.receives) {
    Header header;
    std::memcpy(&header, first_.host() + receive.begin, sizeof(header));
    if (header.magic != kMagic) {
      fail(TransportError::Kind::kGarbage,
           "rank " + std::to_string(receive.peer) +
               " sent bytes that are not a message of this transport",
           receive.peer);
    }
    ByteBuffer body;
    try {
      body.resize(header.bytes);
    } catch (const std::length_error&) {
      fail(TransportError::Kind::kGarbage,
           "rank " + std::to_string(receive.peer) + " announced a message of " +
               std::to_string(header.bytes) + " bytes",
           receive.peer);
    }
    if (header.bytes > 0) {
      std::memcpy(body.data(), first_.host() + receive.begin + sizeof(header),
                  std::min<std::size_t>(header.bytes, kEagerBytes));
    }
    round.messages.emplace_back(std::pair{receive.peer, header.tag}, std::move(body));
    if (header.bytes > kEagerBytes) {
      round.add_rest(round.long_receives, receive.peer, header.bytes - kEagerBytes);
    }
  }
}

void Rounds::keep(Round& round) {
  std::size_t next_long = 0;
  for (auto& [key, body] : round.messages) {
    if (body.size() > kEagerBytes) {
      const Transfer& receive = round.long_receives[next_long++];
      std::memcpy(body.data() + kEagerBytes, rest_.host() + receive.begin, receive.bytes);
    }
    expected_.erase(key);
    arrived_[key] = Payload(std::move(body));
  }
  for (const Transfer& send : round.sends) {
    auto& queue = outgoing_[static_cast<std::size_t>(send.peer)];
    --*queue.front().unsent;
    queue.pop_front();
  }
}

void Rounds::move(Staging& staging, const std::vector<Transfer>& sends,
                  const std::vector<Transfer>& receives, Deadline deadline) {
  for (const Transfer& send : sends) staging.to_device(send.begin, send.bytes, stream_);
  if (symmetric_) {
    symmetric_->enqueue(staging.device(), sends, receives, stream_);
  } else {
    launch_group(staging, sends, receives, deadline);
  }
  for (const Transfer& receive : receives) staging.to_host(receive.begin, receive.bytes, stream_);
  check_cuda(cudaEventRecord(event_, stream_), "recording an event");
  for (Backoff backoff;; backoff.pause()) {
    const cudaError_t state = cudaEventQuery(event_);
    if (state == cudaSuccess) return;
    if (state != cudaErrorNotReady) {
      fail(TransportError::Kind::kPeerLost, cudaGetErrorString(state));
    }
    check_progress(comm_, deadline);
  }
}

void Rounds::launch_group(Staging& staging, const std::vector<Transfer>& sends,
                          const std::vector<Transfer>& receives, Deadline deadline) {
  check_nccl(library_.group_start());
  for (const Transfer& send : sends) {
    check_nccl(library_.send(staging.device() + send.begin, send.bytes, ncclUint8, send.peer, comm_,
                             stream_));
  }
  for (const Transfer& receive : receives) {
    check_nccl(library_.receive(staging.device() + receive.begin, receive.bytes, ncclUint8,
                                receive.peer, comm_, stream_));
  }
  check_nccl(library_.group_end());
  wait_until_ready(comm_, deadline);  // the launch itself is not blocking
}

void Rounds::wait_until_ready(ncclComm_t comm, Deadline deadline) {
  for (Backoff backoff;; backoff.pause()) {
    ncclResult_t state = ncclSuccess;
    check_nccl(library_.async_error(comm, &state));
    if (state == ncclSuccess) return;
    check_progress(comm, deadline);
  }
}

void Rounds::check_progress(ncclComm_t comm, Deadline deadline) {
  throw_if_broken();
  ncclResult_t state = ncclSuccess;
  check_nccl(library_.async_error(comm, &state));
  check_nccl(state);
  if (deadline.expired()) {
    fail(TransportError::Kind::kTimeout,
         "the exchange with " + waited_for_ + " was not done by the deadline");
  }
}

void Rounds::check_nccl(ncclResult_t result) {
  if (result == ncclSuccess || result == ncclInProgress) return;
  fail(TransportError::Kind::kPeerLost,
       "NCCL failed in the exchange with " + waited_for_ + ": " + library_.error_string(result));
}

void Rounds::fail(TransportError::Kind kind, const std::string& what, int peer) {
  abort(what);
  throw TransportError(kind, peer, what);
}

void Rounds::abort(const std::string& reason) noexcept {
  const std::lock_guard lock(reason_mutex_);
  if (broken_.load()) return;
  try {
    reason_ = reason;
  } catch (const std::bad_alloc&) {
    reason_.clear();
  }
  broken_.store(true);
  if (symmetric_) symmetric_->end_kernels();
}

void Rounds::throw_if_broken() {
  if (!broken()) return;
  const std::lock_guard lock(reason_mutex_);
  throw TransportError(TransportError::Kind::kAborted, -1, "the group is broken: " + reason_);
}

ncclComm_t Rounds::shrink(std::vector<int> excluded, Deadline deadline) {
  if (library_.comm_shrink == nullptr) {
    throw Error("transport", "forming a smaller group needs NCCL 2.27 or newer");
  }
  constexpr int kShrinkAbort = 1;  // NCCL_SHRINK_ABORT
  check_cuda(cudaSetDevice(device_index_), "choosing the device");
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ncclComm_t smaller = nullptr;
  ncclResult_t result = library_.comm_shrink(
      comm_, excluded.data(), static_cast<int>(excluded.size()), &smaller, &config, kShrinkAbort);
  for (Backoff backoff; result == ncclInProgress && smaller == nullptr; backoff.pause()) {
    if (library_.async_error(comm_, &result) != ncclSuccess || deadline.expired()) break;
  }
  if (smaller == nullptr) {
    throw TransportError(
        deadline.expired() ? TransportError::Kind::kTimeout : TransportError::Kind::kPeerLost, -1,
        std::string("the smaller group was not formed: ") + library_.error_string(result));
  }
  return smaller;
}

}  // namespace tandem::transport::nccl
