// SPDX-License-Identifier: Apache-2.0
//
// The calls that move bytes and reduce nothing: all-gather-v, all-to-all-v, broadcast, barrier.
//
// Steps beyond the header exchange: allgatherv and alltoallv 1 (n - 1 messages each way), broadcast
// ceil(log2 n) (binomial tree), barrier none (no rank leaves the header exchange before all have
// entered it). Bytes: every payload once to each of its destinations, and frames.
#include <cstring>
#include <utility>

#include "collectives/agreement.h"
#include "collectives/group_state.h"
#include "collectives/reduction.h"

namespace tandem::collectives {
namespace {

using Bytes = std::span<const std::byte>;

void append(ByteBuffer& to, Bytes bytes) { to.insert(to.end(), bytes.begin(), bytes.end()); }

void check_bytes(Bytes bytes) {
  if (bytes.data() == nullptr && !bytes.empty()) {
    throw Error("collectives", std::to_string(bytes.size()) + " bytes at a null pointer");
  }
}

// The rank whose place in the tree is `place`, counted from the root.
int rank_at(const Communicator& ranks, int root, int place) {
  return (root + place) % ranks.world();
}

// In round r, places below 2^r have the bytes and send them 2^r further.
void send_down(Communicator& ranks, std::span<std::byte> bytes, int root) {
  constexpr const char* kPhase = "broadcast";
  const int world = ranks.world();
  const int place = (ranks.rank() - root + world) % world;
  int reach = 1;
  if (place > 0) {
    while (reach * 2 <= place) reach *= 2;
    const int from = rank_at(ranks, root, place - reach);
    const Message message = ranks.receive(kPhase, from);
    if (message.body().size() != bytes.size()) {
      ranks.reject(kPhase, from, "a broadcast of another size");
    }
    if (!bytes.empty()) std::memcpy(bytes.data(), message.body().data(), bytes.size());
    reach *= 2;
  }
  std::vector<Outgoing> sends;
  ByteBuffer message = new_message(bytes.size());
  append(message, bytes);
  const Payload payload = ranks.seal(kPhase, std::move(message));
  for (; place + reach < world; reach *= 2) {
    sends.push_back({rank_at(ranks, root, place + reach), payload});
  }
  if (!sends.empty()) ranks.start(kPhase, std::move(sends), {}).finish();
}

}  // namespace

std::vector<RawVector<std::byte>> allgatherv(Group& group, Bytes own, const CallOptions& options) {
  std::vector<RawVector<std::byte>> result;
  group.state().run(
      "allgatherv", group.state().take_ticket(), deadline_of(options), [&](Call& call) {
        CallHeader header;
        header.function = "allgatherv";
        header.count = own.size();
        header.error = text_of_failure([&] { check_bytes(own); });
        agree(call.ranks, header);
        ByteBuffer message = new_message(own.size());
        append(message, own);
        const auto received = call.ranks.all_gather("all-gather-v", std::move(message));
        for (const auto& from : received) {
          const Bytes body = from ? from->body() : own;
          result.emplace_back(body.begin(), body.end());
        }
      });
  return result;
}

std::vector<RawVector<std::byte>> alltoallv(Group& group, std::span<const Bytes> to,
                                            const CallOptions& options) {
  std::vector<RawVector<std::byte>> result;
  group.state().run(
      "alltoallv", group.state().take_ticket(), deadline_of(options), [&](Call& call) {
        const auto world = static_cast<std::size_t>(call.ranks.world());
        CallHeader header;
        header.function = "alltoallv";
        header.error = text_of_failure([&] {
          if (to.size() != world) {
            throw Error("collectives", std::to_string(to.size()) + " parts for " +
                                           std::to_string(world) + " ranks; give one for each");
          }
          for (const Bytes part : to) check_bytes(part);
        });
        agree(call.ranks, header);
        std::vector<ByteBuffer> messages;
        for (const Bytes part : to) {
          const bool own = messages.size() == static_cast<std::size_t>(call.ranks.rank());
          messages.push_back(new_message(own ? 0 : part.size()));
          if (!own) append(messages.back(), part);
        }
        const auto received = call.ranks.all_to_all("all-to-all-v", std::move(messages));
        for (std::size_t rank = 0; rank < world; ++rank) {
          const Bytes body = received[rank] ? received[rank]->body() : to[rank];
          result.emplace_back(body.begin(), body.end());
        }
      });
  return result;
}

void broadcast(Group& group, std::span<std::byte> bytes, int root, const CallOptions& options) {
  group.state().run(
      "broadcast", group.state().take_ticket(), deadline_of(options), [&](Call& call) {
        CallHeader header;
        header.function = "broadcast";
        header.fields = {{"root", std::to_string(root)}, {"bytes", std::to_string(bytes.size())}};
        header.error = text_of_failure([&] {
          check_bytes(bytes);
          if (root < 0 || root >= call.ranks.world()) {
            throw Error("collectives", "root " + std::to_string(root) + " is none of the " +
                                           std::to_string(call.ranks.world()) + " ranks");
          }
        });
        agree(call.ranks, header);
        send_down(call.ranks, bytes, root);
      });
}

void barrier(Group& group, const CallOptions& options) {
  group.state().run("barrier", group.state().take_ticket(), deadline_of(options), [&](Call& call) {
    CallHeader header;
    header.function = "barrier";
    agree(call.ranks, header);
  });
}

}  // namespace tandem::collectives
