// SPDX-License-Identifier: Apache-2.0
//
// First frames and pieces. Small messages are copied once on each side; of large ones only the
// first 32 KiB are.
#include "transport/gloo/message.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace tandem::transport::gloo {
namespace {

constexpr std::uint64_t kMagic = 0x316f6f6c67646e74ull;  // "tndgloo1"
constexpr std::size_t kInlineBytes = std::size_t{32} << 10;
// Bounds how long one message keeps gloo's thread from the other connections.
constexpr std::size_t kPieceBytes = std::size_t{4} << 20;

struct Head {
  std::uint64_t magic;
  std::uint64_t bytes;
};

// Calls post(offset, bytes) for every piece of what follows the first frame; returns how many.
template <typename Post>
int for_each_piece(std::size_t bytes, const Post& post) {
  int number = 0;
  for (std::size_t at = 0; at < bytes; at += kPieceBytes, ++number) {
    post(at, std::min(kPieceBytes, bytes - at));
  }
  return number;
}

}  // namespace

void OutgoingMessage::start(Mesh& mesh) {
  const auto bytes = outgoing_.payload.bytes();
  const std::size_t num_inline = std::min(bytes.size(), kInlineBytes);
  const Head head{kMagic, bytes.size()};
  first_.resize(sizeof(head) + num_inline);
  std::memcpy(first_.data(), &head, sizeof(head));
  if (num_inline > 0) std::memcpy(first_.data() + sizeof(head), bytes.data(), num_inline);
  first_region_ = mesh.make_region(first_.data(), first_.size());
  first_region_->send(outgoing_.peer, outgoing_.tag, 0, first_.size());
  const auto rest = bytes.subspan(num_inline);
  if (rest.empty()) return;
  rest_region_ = mesh.make_region(rest.data(), rest.size());
  num_pieces_ = for_each_piece(rest.size(), [&](std::size_t at, std::size_t length) {
    rest_region_->send(outgoing_.peer, outgoing_.tag, at, length);
  });
}

bool OutgoingMessage::done() {
  return rest_region_ ? rest_region_->num_sent() == num_pieces_ : first_region_->num_sent() > 0;
}

void IncomingMessage::start(Mesh& mesh) {
  first_.resize(sizeof(Head) + kInlineBytes);
  first_region_ = mesh.make_region(first_.data(), first_.size());
  first_region_->recv(source_.peer, source_.tag, 0, first_.size());
}

void IncomingMessage::progress(Mesh& mesh) {
  if (!opened_ && first_region_->num_received() > 0) open(mesh);
  if (!opened_ || done_) return;
  done_ = !rest_region_ || rest_region_->num_received() == num_pieces_;
}

void IncomingMessage::open(Mesh& mesh) {
  const std::string sender = "rank " + std::to_string(source_.peer);
  Head head;
  std::memcpy(&head, first_.data(), sizeof(head));
  if (head.magic != kMagic) {
    throw TransportError(TransportError::Kind::kGarbage, source_.peer,
                         sender + " sent what is not a message");
  }
  try {
    body_.resize(head.bytes);
  } catch (const std::exception&) {  // bad_alloc or length_error
    throw TransportError(TransportError::Kind::kGarbage, source_.peer,
                         "no memory for a message of " + std::to_string(head.bytes) +
                             " bytes that " + sender + " announced");
  }
  const std::size_t num_inline = std::min<std::size_t>(head.bytes, kInlineBytes);
  if (num_inline > 0) std::memcpy(body_.data(), first_.data() + sizeof(head), num_inline);
  const std::size_t rest = head.bytes - num_inline;
  opened_ = true;
  if (rest == 0) return;
  rest_region_ = mesh.make_region(body_.data() + num_inline, rest);
  num_pieces_ = for_each_piece(rest, [&](std::size_t at, std::size_t length) {
    rest_region_->recv(source_.peer, source_.tag, at, length);
  });
}

}  // namespace tandem::transport::gloo
