// SPDX-License-Identifier: Apache-2.0
//
// A foreign process connects to a gloo rank's port: whatever it sends is an error that names the
// rank that it claims to be, and never ends the process. gloo alone would end it for some input.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>
#include <fstream>
#include <future>
#include <iterator>
#include <optional>

#include "host/transport/gloo_world.h"

namespace tandem::transport {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kAddressBytes = sizeof(sockaddr_storage) + sizeof(ssize_t);

// What precedes everything that gloo sends.
struct Preamble {
  std::size_t bytes, opcode, slot, offset, length, remote_offset;
};

std::string read_when_there(const std::string& path) {
  for (;;) {
    std::ifstream file(path, std::ios::binary);
    if (file) return {std::istreambuf_iterator<char>(file), {}};
    std::this_thread::sleep_for(milliseconds(2));
  }
}

// Rank 0 of 2 meets a rank 1 that is not one of ours and sends `bytes`.
TransportError error_of_meeting(const std::vector<std::size_t>& words) {
  const test::StoreDirectory store;
  auto meeting = std::async(std::launch::async, [&]() -> std::optional<TransportError> {
    auto options = test::gloo_options(store, 0, 2);
    // Silence takes all of it; the others take what a busy machine needs.
    options.deadline = Deadline::after(milliseconds(5000));
    try {
      gloo::connect(options);
    } catch (const TransportError& error) {
      return error;
    }
    return std::nullopt;
  });
  // Where rank 0 listens for rank 1; and an address above it, so that rank 0 waits for us.
  const std::string record = read_when_there(store.path() + "/tandem.0.rank-0");
  sockaddr_in address;
  std::memcpy(&address, record.data() + record.find('\n') + 1 + kAddressBytes, sizeof(address));
  sockaddr_in above = address;
  above.sin_addr.s_addr = htonl(INADDR_LOOPBACK | 0xfffffe);
  std::string addresses(2 * kAddressBytes, '\0');
  std::memcpy(addresses.data(), &above, sizeof(above));
  std::ofstream(store.path() + "/draft") << "2\n" << addresses;
  std::filesystem::rename(store.path() + "/draft", store.path() + "/tandem.0.rank-1");

  const int stranger = ::socket(AF_INET, SOCK_STREAM, 0);
  EXPECT_EQ(::connect(stranger, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  const std::size_t bytes = words.size() * sizeof(words[0]);
  EXPECT_EQ(::send(stranger, words.data(), bytes, MSG_NOSIGNAL), static_cast<ssize_t>(bytes));
  const auto error = meeting.get();
  ::close(stranger);
  if (!error) throw std::runtime_error("a group formed with a stranger");
  return *error;
}

std::vector<std::size_t> message(const Preamble& preamble, std::size_t num_words) {
  std::vector<std::size_t> words(sizeof(preamble) / sizeof(std::size_t) + num_words, 0x5a5a);
  std::memcpy(words.data(), &preamble, sizeof(preamble));
  return words;
}

class GlooStranger : public ::testing::TestWithParam<std::vector<std::size_t>> {};

TEST_P(GlooStranger, IsAnErrorThatNamesTheRankItStandsFor) {
  if (!gloo::available()) GTEST_SKIP() << "this build has no libgloo";
  EXPECT_EQ(error_of_meeting(GetParam()).peer(), 1);
}

INSTANTIATE_TEST_SUITE_P(
    Sends, GlooStranger,
    ::testing::Values(
        // Data that nobody asked for; a greeting longer than its room; a greeting of another kind;
        // data for a buffer that is not; an operation that is none; silence.
        message({48 + 64, 1, 99, 0, 64, 0}, 8), message({48 + 4096, 1, 1u << 24, 0, 4096, 0}, 512),
        message({48 + 512, 1, 1u << 24, 0, 512, 0}, 64), message({48 + 64, 0, 5, 0, 64, 0}, 8),
        message({48, 77, 0, 0, 0, 0}, 0), std::vector<std::size_t>{}));

}  // namespace
}  // namespace tandem::transport
