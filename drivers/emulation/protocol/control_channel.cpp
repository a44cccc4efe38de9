// SPDX-License-Identifier: Apache-2.0
//
// SOCK_SEQPACKET messages with SCM_RIGHTS.
#include "emulation/protocol/control_channel.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace tandem::emulation {
namespace {

constexpr size_t kMaxDescriptors = 8;

bool wait_for(int socket, short events, std::chrono::milliseconds timeout) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + timeout;
  for (;;) {
    const auto rest = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd event{socket, events, 0};
    const int ready = poll(&event, 1, static_cast<int>(std::max<int64_t>(rest.count(), 0)));
    if (ready != 0 && (ready > 0 || errno != EINTR)) return true;
    if (ready == 0) return false;
  }
}

SendResult result_of(int code) {
  switch (code) {
    case EAGAIN:
    case ENOBUFS:
    case ENOMEM:
    case ETOOMANYREFS:  // descriptors in messages that were not read
      return SendResult::kFull;
    default:
      return SendResult::kGone;
  }
}

}  // namespace

SendResult try_send(int socket, const std::string& text, const std::vector<int>& descriptors) {
  if (text.size() > kMaxMessageBytes || descriptors.size() > kMaxDescriptors) {
    return SendResult::kGone;
  }
  iovec part{const_cast<char*>(text.data()), text.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxDescriptors)] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    const size_t bytes = sizeof(int) * descriptors.size();
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(bytes);
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(bytes);
    std::memcpy(CMSG_DATA(header), descriptors.data(), bytes);
  }
  for (;;) {
    const ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) return SendResult::kSent;
    if (errno != EINTR) return result_of(errno);
  }
}

bool send_message(int socket, const std::string& text, const std::vector<int>& descriptors) {
  return try_send(socket, text, descriptors) == SendResult::kSent;
}

bool wait_for_room(int socket, std::chrono::milliseconds timeout) {
  return wait_for(socket, POLLOUT, timeout);
}

bool wait_for_message(int socket, std::chrono::milliseconds timeout) {
  return wait_for(socket, POLLIN, timeout);
}

bool receive_message(int socket, Message& message) {
  std::string buffer(kMaxMessageBytes, '\0');
  iovec part{buffer.data(), buffer.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxDescriptors)] = {};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof(control);
  ssize_t count = 0;
  do {
    count = recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
  } while (count < 0 && errno == EINTR);
  if (count <= 0) return false;
  message.text.assign(buffer.data(), static_cast<size_t>(count));
  message.descriptors.clear();
  for (cmsghdr* item = CMSG_FIRSTHDR(&header); item != nullptr; item = CMSG_NXTHDR(&header, item)) {
    if (item->cmsg_level != SOL_SOCKET || item->cmsg_type != SCM_RIGHTS) continue;
    const size_t descriptors = (item->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    message.descriptors.resize(descriptors);
    std::memcpy(message.descriptors.data(), CMSG_DATA(item), descriptors * sizeof(int));
  }
  return true;
}

void close_descriptors(std::vector<int>& descriptors) {
  for (int descriptor : descriptors) close(descriptor);
  descriptors.clear();
}

bool peer_is_this_user(int descriptor) {
  ucred peer{};
  socklen_t bytes = sizeof(peer);
  return getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 &&
         bytes == sizeof(peer) && peer.uid == getuid();
}

}  // namespace tandem::emulation
