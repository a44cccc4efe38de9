// SPDX-License-Identifier: Apache-2.0
//
// Control messages between an application and its card: a Unix socket carrying text and file
// descriptors.
//
// The first request is "open". Later requests begin with a number, and so do their answers: a
// caller that gave up recognises a late answer. A request with number 0 gets no answer. Answers are
// "ok ..." or "error <text>"; numbers are decimal. Descriptors stand in [].
// clang-format off
//   open <version> <platform> <memory bytes>   ok <slot> <first peer address>  [CardArea's three]
//   load <uuid> <lines, see loaded_program.h> [ELF]     ok <generation>
//   context <uuid> <unit> <shared 0|1>         ok           end_context <unit>    ok
//   allocate <bytes> <low> <high>              ok <address>; "full <largest free piece>"
//   release <address>                          ok
//   export <address> <memory group>            ok [export handle]
//   import [export handle]                     ok <address> <bytes> <group>; "foreign": another card's
//   map_peer <offset> <bytes> [memory, lease]  ok <address>
//   leave                                      ok <number of clients that remain>
//   withdraw <number>                          ok; gives back what the last request got, if it has that number
// clang-format on
// An export handle is a socket to the buffer's card. It takes "lease" [socket] and answers on that
// socket with "ok <offset> <bytes> <group>" [device memory]; the memory stays while the socket is
// open. A closed socket means that the other side is gone. No SIGPIPE. Errors: false or empty when
// the peer is gone. Threads: one at a time per end.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace tandem::emulation {

constexpr uint64_t kMaxMessageBytes = 64 << 10;

// Order of the descriptors in the answer to "open".
enum CardArea { kStateArea = 0, kClientArea = 1, kDeviceArea = 2, kNumAreas = 3 };

struct Message {
  std::string text;
  std::vector<int> descriptors;  // owned by the receiver
};

enum class SendResult { kSent, kFull, kGone };  // kFull: the peer does not read its messages

// Never waits.
SendResult try_send(int socket, const std::string& text, const std::vector<int>& descriptors = {});
bool send_message(int socket, const std::string& text, const std::vector<int>& descriptors = {});
// Waits until there is room for a message, or the peer is gone; false when `timeout` passed first.
bool wait_for_room(int socket, std::chrono::milliseconds timeout);
// Waits until a message or the end of the peer can be received; false when `timeout` passed first.
bool wait_for_message(int socket, std::chrono::milliseconds timeout);
// Waits for a message; false when the peer is gone, which an empty message cannot be told from.
bool receive_message(int socket, Message& message);
void close_descriptors(std::vector<int>& descriptors);
// True when `descriptor` is a Unix socket whose other end belongs to a process of this user.
bool peer_is_this_user(int descriptor);

}  // namespace tandem::emulation
