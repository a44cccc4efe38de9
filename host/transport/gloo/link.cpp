// SPDX-License-Identifier: Apache-2.0
//
// Overrides the functions that gloo's TLS transport also overrides, to observe the loop's events,
// reads, writes and states.
#include "transport/gloo/link.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

namespace tandem::transport::gloo {

namespace tcp = ::gloo::transport::tcp;

namespace {

// Operations read per event; the loop comes back for more after the other links' turns.
constexpr int kReadsPerEvent = 4;
// gloo's own timeout serves its waits, which are not used; it must not be zero.
constexpr auto kGlooTimeout = std::chrono::hours(1);
constexpr auto kWatch = std::chrono::milliseconds(50);

}  // namespace

Link::Link(tcp::Context* context, tcp::Device* device, int peer, Activity& activity,
           std::atomic<bool>& closed)
    : tcp::Pair(context, device, peer, kGlooTimeout),
      peer_(peer),
      activity_(activity),
      closed_(closed) {
  // gloo's constructor has registered its half of the object; the loop shall see the whole.
  device->registerDescriptor(fd_, EPOLLIN, this);
}

void Link::connect_by(Deadline deadline, const std::vector<char>& address,
                      const std::function<void()>& watch) {
  {
    const std::lock_guard lock(m_);
    deadline_ = deadline;
    watch_ = watch;
  }
  tcp::Pair::connect(address);
}

void Link::interrupt() noexcept {
  const std::lock_guard lock(m_);
  if (state_ == CONNECTED && fd_ >= 0) ::shutdown(fd_, SHUT_RDWR);
}

bool Link::connected() {
  const std::lock_guard lock(m_);
  return state_ == CONNECTED;
}

void Link::handleEvents(int events) {
  Activity& activity = activity_;  // once closed here, the link may be destroyed at any time
  tcp::Pair::handleEvents(events);
  activity.publish();
}

void Link::handleReadWrite(int events) {
  try {
    // A hang-up is found by reading, for every requested event.
    const int to_write = events & EPOLLOUT;
    if (to_write != 0 && !tx_.empty()) tcp::Pair::handleReadWrite(to_write);
    if ((events & ~EPOLLOUT) == 0) return;
    for (int number = 0; number < kReadsPerEvent && read(); ++number) {
    }
  } catch (const std::exception& error) {
    if (ex_ == nullptr) signalException(std::string("broken protocol: ") + error.what());
  }
}

bool Link::read() {
  const bool completed = tcp::Pair::read();
  if (completed) activity_.mark();
  // gloo would wait, busily, for a bound buffer of that slot, and not notice the end meanwhile.
  const bool bound = rx_.nread >= sizeof(rx_.preamble) && rx_.getOpcode() == tcp::Op::SEND_BUFFER;
  if (!completed && bound && ex_ == nullptr) signalException("data for a bound buffer");
  return completed;
}

bool Link::write(tcp::Op& op) {
  const bool completed = tcp::Pair::write(op);
  if (completed) activity_.mark();
  return completed;
}

void Link::changeState(state next) noexcept {
  tcp::Pair::changeState(next);
  if (next == CLOSED) {
    closed_.store(true);
    activity_.mark();
  }
}

void Link::waitUntilConnected(std::unique_lock<std::mutex>& lock, bool) {
  const auto connected = [this] {
    throwIfException();
    return state_ >= CONNECTED;
  };
  while (!cv_.wait_for(lock, std::min<Deadline::Clock::duration>(kWatch, deadline_.remaining()),
                       connected)) {
    if (deadline_.expired()) {
      throw TransportError(TransportError::Kind::kTimeout, peer_,
                           "rank " + std::to_string(peer_) + " did not connect by the deadline");
    }
    lock.unlock();  // of gloo's loop, too
    watch_();
    lock.lock();
  }
}

LinkContext::LinkContext(std::shared_ptr<tcp::Device> device, int rank, int world,
                         Activity& activity, std::vector<std::atomic<bool>>& closed)
    : tcp::Context(std::move(device), rank, world), activity_(activity), closed_(closed) {
  setTimeout(kGlooTimeout);
}

std::unique_ptr<::gloo::transport::Pair>& LinkContext::createPair(int peer) {
  auto& pair = pairs_[static_cast<std::size_t>(peer)];
  pair = std::make_unique<Link>(this, device_.get(), peer, activity_,
                                closed_[static_cast<std::size_t>(peer)]);
  return pair;
}

}  // namespace tandem::transport::gloo
