// SPDX-License-Identifier: Apache-2.0
//
// Control messages between an application and its card: text and file descriptors over a Unix
// socket.
//
// The first request is "open". Every later request begins with a decimal number, and so does its
// answer, so the caller can recognise a late answer to an earlier request after a timeout. A
// request with number 0 gets no answer. Answers are "ok ..." or "error <text>". A closed socket
// means that the peer process has ended or closed the connection; functions then return false or an
// empty result. There is no SIGPIPE. Threads: one at a time per end.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace tandem::emulation {

constexpr uint64_t kMaxMessageBytes = 64 << 10;

// Order of the descriptors in the answer to "open".
enum CardArea { kStateArea = 0, kClientArea = 1, kDeviceArea = 2, kStatesArea = 3, kNumAreas = 4 };

// A message. The requests (left) and their answers (right); [] are descriptors.
//   open <version> <platform> <memory bytes>         ok <slot> <first peer address> [CardAreas]
//   load <uuid> <lines, see loaded_program.h> [ELF]  ok <generation>
//   context <uuid> <unit> <shared 0|1>               ok
//   end_context <unit>                               ok
//   allocate <bytes> <low> <high>                    ok <address>; "full <largest free piece>"
//   release <address>                                ok
//   export <address> <bytes> <memory group>          ok [export handle]
//   import [export handle]                           ok <address> <bytes> <group>;
//                                                    "foreign": a handle of another card
//   map_peer <offset> <bytes> [memory, lease]        ok <address>
//   leave                                            ok <number of clients that remain>
//   withdraw <number>                                ok; undoes the last request, if it has that
//                                                    number
// An export handle is a socket to the card that holds the buffer. It takes "lease" [socket] and
// answers on that socket with "ok <offset> <bytes> <group>" [device memory]. The memory stays while
// the socket is open.
struct Message {
  std::string text;
  std::vector<int> descriptors;  // owned by the receiver
};

enum class SendResult { kSent, kFull, kGone };  // kFull: the peer does not read its messages

// Never waits.
SendResult try_send(int socket, const std::string& text, const std::vector<int>& descriptors = {});
bool send_message(int socket, const std::string& text, const std::vector<int>& descriptors = {});
// Waits until there is room for a message, or the peer has closed; false after `timeout`.
bool wait_for_room(int socket, std::chrono::milliseconds timeout);
// Waits until a message can be received, or the peer has closed; false after `timeout`.
bool wait_for_message(int socket, std::chrono::milliseconds timeout);
// Waits for a message; false when the peer has closed. An empty message looks the same.
bool receive_message(int socket, Message& message);
void close_descriptors(std::vector<int>& descriptors);
// True when `descriptor` is a Unix socket whose other end belongs to a process of this user.
bool peer_is_this_user(int descriptor);

}  // namespace tandem::emulation
