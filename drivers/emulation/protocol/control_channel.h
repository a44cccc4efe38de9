// SPDX-License-Identifier: Apache-2.0
//
// Control messages between an application and its card: a Unix socket carrying text and file
// descriptors.
//
// Requests: "load\n<kernel>:<unit>\n..." with the ELF's descriptor; the answer is "ok" or "error
// <text>". At the start the card inherits the socket and receives "start <device bytes>" with the
// descriptors of CardAreas. A closed socket tells each side that the other is gone. No SIGPIPE.
// Errors: false / empty when the peer is gone. Threads: one at a time per end.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace tandem::emulation {

constexpr uint64_t kMaxMessageBytes = 64 << 10;

// Order of the descriptors of the "start" message.
enum CardArea { kStateArea = 0, kPacketArea = 1, kDeviceArea = 2, kNumAreas = 3 };

struct Message {
  std::string text;
  std::vector<int> descriptors;  // owned by the receiver
};

bool send_message(int socket, const std::string& text, const std::vector<int>& descriptors = {});
// Waits until a message or the end of the peer can be received; false when `timeout` passed first.
bool wait_for_message(int socket, std::chrono::milliseconds timeout);
// Waits for a message; false when the peer is gone. An empty text is a message too.
bool receive_message(int socket, Message& message);

}  // namespace tandem::emulation
