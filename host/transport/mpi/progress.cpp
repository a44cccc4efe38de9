// SPDX-License-Identifier: Apache-2.0
//
// One probe of any source and one MPI_Testsome of everything in flight make a poll.
#include "transport/mpi/progress.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <limits>
#include <new>
#include <stdexcept>
#include <string>

#include "transport/mpi/backoff.h"

namespace tandem::transport::mpi {
namespace {

constexpr int kAbortTag = 1;
constexpr int kFirstTag = 2;
constexpr Tag kAllTags = (1u << 24) - 1;
constexpr std::size_t kMaxReasonBytes = 1000;
// How long abort() pushes its messages out; later polls and MPI_Finalize push on.
constexpr std::chrono::milliseconds kAbortPush{200};

Tag tags_of(MPI_Comm communicator) {
  int* upper = nullptr;
  int found = 0;
  check_mpi(MPI_Comm_get_attr(communicator, MPI_TAG_UB, &upper, &found), "MPI_Comm_get_attr");
  const auto limit = found ? static_cast<std::uint32_t>(*upper) : 32767u;
  // Every tag t below the returned mask + 1 has kFirstTag + 2 t + 1 <= limit.
  return std::min(kAllTags, std::bit_floor((limit - kFirstTag + 1) / 2) - 1);
}

}  // namespace

// What MPI may still touch; never freed.
struct Progress::AbandonedRequests {
  std::vector<MPI_Request> requests;
  std::vector<Record> records;
  std::map<Key, std::deque<Arrival>> arrivals;
};

Progress::Progress(MPI_Comm communicator, std::mutex& mpi, std::size_t max_part_bytes)
    : communicator_(communicator), mpi_(mpi), max_part_bytes_(max_part_bytes) {
  if (max_part_bytes == 0 || max_part_bytes > std::numeric_limits<int>::max()) {
    throw Error("transport", "max_part_bytes is " + std::to_string(max_part_bytes) +
                                 "; it must be from 1 to 2^31 - 1");
  }
  const std::lock_guard lock(mpi_);
  check_mpi(MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  tag_mask_ = tags_of(communicator);
  check_mpi(MPI_Comm_rank(communicator, &rank_), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(communicator, &world_), "MPI_Comm_size");
}

Progress::~Progress() {
  const std::lock_guard lock(mpi_);
  if (!requests_.empty()) {
    auto* kept = new AbandonedRequests;  // leaked: see the header
    kept->requests = std::move(requests_);
    kept->records = std::move(records_);
    kept->arrivals = std::move(arrivals_);
  } else if (!broken_) {
    MPI_Comm_free(&communicator_);
  }
}

void Progress::throw_if_broken() const {
  if (broken_) throw *broken_;
}

void Progress::fail(const TransportError& error) {
  const std::lock_guard lock(mpi_);
  if (!broken_) broken_ = error;
}

std::uint64_t Progress::send(std::vector<Outgoing> sends) {
  const std::lock_guard lock(mpi_);
  throw_if_broken();
  const std::uint64_t id = ++last_sends_;
  for (const Outgoing& send : sends) {
    const auto bytes = send.payload.bytes();
    const int mpi_tag = kFirstTag + 2 * folded(send.tag);
    if (bytes.size() <= max_part_bytes_) {
      isend(send.payload, bytes, send.peer, mpi_tag, id);
      continue;
    }
    ByteBuffer announced;
    append_value(announced, static_cast<std::uint64_t>(bytes.size()));
    const Payload size(std::move(announced));
    isend(size, size.bytes(), send.peer, mpi_tag + 1, id);
    for (std::size_t at = 0; at < bytes.size(); at += max_part_bytes_) {
      const auto part = bytes.subspan(at, std::min(max_part_bytes_, bytes.size() - at));
      isend(send.payload, part, send.peer, mpi_tag + 1, id);
    }
  }
  return id;
}

void Progress::isend(const Payload& keep, std::span<const std::byte> bytes, int peer, int mpi_tag,
                     std::uint64_t sends) {
  requests_.push_back(MPI_REQUEST_NULL);
  records_.push_back({peer, keep, sends, nullptr});
  const int code = MPI_Isend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, peer, mpi_tag,
                             communicator_, &requests_.back());
  if (code != MPI_SUCCESS) {
    requests_.pop_back();
    records_.pop_back();
    try {
      check_mpi(code, "MPI_Isend", peer);
    } catch (const TransportError& error) {
      if (!broken_) broken_ = error;
      throw;
    }
  }
  if (sends != 0) unsent_[sends].push_back(peer);
}

bool Progress::poll() {
  const std::lock_guard lock(mpi_);
  throw_if_broken();
  try {
    bool moved = false;
    while (world_ > 1 && accept_one()) moved = true;
    if (complete_some()) moved = true;
    if (moved) sweep();
    return moved;
  } catch (const TransportError& error) {
    if (!broken_) broken_ = error;
    throw;
  } catch (const std::bad_alloc&) {
    broken_.emplace(TransportError::Kind::kAborted, rank_,
                    "rank " + std::to_string(rank_) + " has no memory for a message");
    throw;
  }
}

bool Progress::accept_one() {
  int found = 0;
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
  check_mpi(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, communicator_, &found, &message, &status),
            "MPI_Improbe");
  if (!found) return false;
  accept(message, status);
  return true;
}

void Progress::accept(MPI_Message message, const MPI_Status& status) {
  const int peer = status.MPI_SOURCE;
  int bytes = 0;
  check_mpi(MPI_Get_count(&status, MPI_BYTE, &bytes), "MPI_Get_count", peer);
  if (status.MPI_TAG == kAbortTag) return accept_abort(message, peer, bytes);
  const Key key{peer, static_cast<Tag>(status.MPI_TAG - kFirstTag) / 2};
  const bool is_cut = (status.MPI_TAG - kFirstTag) % 2 == 1;
  if (!is_cut) {
    Arrival& arrival = new_arrival(key);
    arrival.bytes.resize(static_cast<std::size_t>(bytes));
    return receive(message, arrival, peer, bytes);
  }
  const auto waiting = arrivals_.find(key);
  const bool continues = waiting != arrivals_.end() && !waiting->second.empty() &&
                         waiting->second.back().bytes_asked < waiting->second.back().bytes.size();
  if (continues) return receive(message, waiting->second.back(), peer, bytes);
  std::uint64_t total = 0;
  check_mpi(MPI_Mrecv(&total, sizeof(total), MPI_BYTE, &message, MPI_STATUS_IGNORE), "MPI_Mrecv",
            peer);
  try {
    new_arrival(key).bytes.resize(total);
  } catch (const std::length_error&) {
    throw TransportError(TransportError::Kind::kGarbage, peer,
                         "rank " + std::to_string(peer) + " announced a message of " +
                             std::to_string(total) + " bytes");
  }
}

Progress::Arrival& Progress::new_arrival(const Key& key) {
  Arrival& arrival = arrivals_[key].emplace_back();
  const auto unwanted = unwanted_.find(key);
  if (unwanted != unwanted_.end()) {
    arrival.discard = has_discarded_ = true;
    if (--unwanted->second == 0) unwanted_.erase(unwanted);
  }
  return arrival;
}

void Progress::receive(MPI_Message message, Arrival& arrival, int peer, int bytes) {
  const auto size = static_cast<std::size_t>(bytes);
  if (size > arrival.bytes.size() - arrival.bytes_asked) {
    throw TransportError(TransportError::Kind::kGarbage, peer,
                         "rank " + std::to_string(peer) + " sent more parts than announced");
  }
  requests_.push_back(MPI_REQUEST_NULL);
  records_.push_back({peer, Payload(), 0, &arrival});
  ++arrival.parts_open;
  std::byte* to = arrival.bytes.data() + arrival.bytes_asked;
  arrival.bytes_asked += size;
  check_mpi(MPI_Imrecv(to, bytes, MPI_BYTE, &message, &requests_.back()), "MPI_Imrecv", peer);
}

void Progress::accept_abort(MPI_Message message, int peer, int bytes) {
  std::string text(static_cast<std::size_t>(bytes), '\0');
  check_mpi(MPI_Mrecv(text.data(), bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE), "MPI_Mrecv",
            peer);
  peers_know_ = true;
  throw TransportError(TransportError::Kind::kAborted, peer,
                       "rank " + std::to_string(peer) + " aborted: " + text);
}

bool Progress::complete_some() {
  if (requests_.empty()) return false;
  indices_.resize(requests_.size());
  statuses_.resize(requests_.size());
  int count = 0;
  const int code = MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count,
                                indices_.data(), statuses_.data());
  if (count == MPI_UNDEFINED || count <= 0) {
    check_mpi(code, "MPI_Testsome");
    return false;
  }
  // From the back, because complete() fills the gap with the last record.
  std::vector<std::pair<std::size_t, int>> finished;
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const int error = code == MPI_ERR_IN_STATUS ? statuses_[at].MPI_ERROR : MPI_SUCCESS;
    finished.emplace_back(static_cast<std::size_t>(indices_[at]), error);
  }
  std::sort(finished.rbegin(), finished.rend());
  for (const auto& [at, error] : finished) {
    const int peer = records_[at].peer;
    complete(at);
    check_mpi(error, "a transfer", peer);
  }
  return true;
}

void Progress::complete(std::size_t at) {
  const Record record = std::move(records_[at]);
  requests_[at] = requests_.back();
  requests_.pop_back();
  records_[at] = std::move(records_.back());
  records_.pop_back();
  if (record.arrival != nullptr) {
    --record.arrival->parts_open;
  } else if (const auto unsent = unsent_.find(record.sends); unsent != unsent_.end()) {
    auto& peers = unsent->second;
    peers.erase(std::find(peers.begin(), peers.end(), record.peer));
  }
}

std::optional<Payload> Progress::take(const Source& source) {
  const std::lock_guard lock(mpi_);
  throw_if_broken();
  const auto found = arrivals_.find({source.peer, source.tag & tag_mask_});
  if (found == arrivals_.end()) return std::nullopt;
  auto& queue = found->second;
  if (queue.front().discard || !queue.front().complete()) return std::nullopt;
  Payload payload(std::move(queue.front().bytes));
  queue.pop_front();
  if (queue.empty()) arrivals_.erase(found);
  return payload;
}

// Frees dropped messages once MPI has written them.
void Progress::sweep() {
  if (!has_discarded_) return;
  has_discarded_ = false;
  for (auto at = arrivals_.begin(); at != arrivals_.end();) {
    auto& queue = at->second;
    while (!queue.empty() && queue.front().discard && queue.front().complete()) queue.pop_front();
    for (const Arrival& arrival : queue) has_discarded_ |= arrival.discard;
    at = queue.empty() ? arrivals_.erase(at) : std::next(at);
  }
}

void Progress::drop(const Source& source) {
  const std::lock_guard lock(mpi_);
  const Key key{source.peer, source.tag & tag_mask_};
  if (const auto found = arrivals_.find(key); found != arrivals_.end()) {
    for (Arrival& arrival : found->second) {
      if (arrival.discard) continue;
      arrival.discard = has_discarded_ = true;
      return;
    }
  }
  ++unwanted_[key];
}

std::optional<int> Progress::unsent_peer(std::uint64_t sends) {
  const std::lock_guard lock(mpi_);
  const auto found = unsent_.find(sends);
  if (found == unsent_.end() || found->second.empty()) return std::nullopt;
  return found->second.front();
}

void Progress::forget(std::uint64_t sends) {
  const std::lock_guard lock(mpi_);
  unsent_.erase(sends);
}

void Progress::abort(const std::string& reason) noexcept {
  try {
    {
      const std::lock_guard lock(mpi_);
      if (!broken_) {
        broken_.emplace(TransportError::Kind::kAborted, rank_,
                        "rank " + std::to_string(rank_) + " aborted: " + reason);
      }
      if (peers_know_) return;
      peers_know_ = true;
      ByteBuffer text;
      const std::size_t size = std::min(reason.size(), kMaxReasonBytes);
      text.resize(size);
      if (size != 0) std::memcpy(text.data(), reason.data(), size);
      tell_peers(Payload(std::move(text)));
    }
    Backoff backoff;
    const Deadline pushed = Deadline::after(kAbortPush);
    while (!abort_told() && !pushed.expired()) backoff.pause();
  } catch (...) {
    // Without memory or without MPI the peers find out at their deadlines.
  }
}

void Progress::tell_peers(const Payload& text) {
  for (int peer = 0; peer < world_; ++peer) {
    if (peer != rank_) isend(text, text.bytes(), peer, kAbortTag, 0);
  }
}

bool Progress::abort_told() {
  const std::lock_guard lock(mpi_);
  complete_some();
  return std::none_of(records_.begin(), records_.end(), [](const Record& record) {
    return record.arrival == nullptr && record.sends == 0;
  });
}

}  // namespace tandem::transport::mpi
