// SPDX-License-Identifier: Apache-2.0
//
// Polls, like gloo's stores, because a directory on a network file system sends no notifications.
#include "transport/gloo/meeting.h"

#include <algorithm>
#include <cstring>
#include <sstream>
#include <thread>
#include <utility>

#include "transport/gloo/sigpipe.h"

namespace tandem::transport::gloo {
namespace {

constexpr auto kPollTime = std::chrono::milliseconds(5);
constexpr auto kGrace = std::chrono::milliseconds(500);

std::string key(const Options& options, int generation, const std::string& what) {
  return options.prefix + "." + std::to_string(generation) + "." + what;
}

std::string rank_key(const Options& options, int generation, int rank) {
  return key(options, generation, "rank-" + std::to_string(rank));
}

void check(const Options& options) {
  if (options.world < 1 || options.rank < 0 || options.rank >= options.world) {
    throw Error("transport", "gloo: rank " + std::to_string(options.rank) + " of " +
                                 std::to_string(options.world) +
                                 " ranks is not a rank; ranks count from 0");
  }
  const auto plain = [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') || std::strchr("._-", letter) != nullptr;
  };
  if (options.prefix.empty() || !std::all_of(options.prefix.begin(), options.prefix.end(), plain)) {
    throw Error("transport", "gloo: the prefix '" + options.prefix +
                                 "' must be letters, digits, '.', '_' and '-'");
  }
}

// What a rank puts: its world, a newline, its addresses.
std::string record(int world, const std::string& addresses) {
  return std::to_string(world) + "\n" + addresses;
}

std::string addresses_of(const std::string& record, int peer, int world) {
  const auto end = record.find('\n');
  if (end == std::string::npos || record.substr(0, end) != std::to_string(world)) {
    throw Error("transport", "gloo: rank " + std::to_string(peer) +
                                 " was started with a world of " + record.substr(0, end) +
                                 " ranks, this rank with one of " + std::to_string(world) +
                                 "; start all with one world size");
  }
  return record.substr(end + 1);
}

void sleep_until_next_look(Deadline deadline) {
  std::this_thread::sleep_for(std::min<Deadline::Clock::duration>(kPollTime, deadline.remaining()));
}

// addresses[peer], once every peer has put its own.
std::vector<std::string> collect_addresses(const Options& options, int generation, Store& store) {
  std::vector<std::string> addresses(static_cast<std::size_t>(options.world));
  std::set<int> missing;
  for (int peer = 0; peer < options.world; ++peer) {
    if (peer != options.rank) missing.insert(peer);
  }
  for (;;) {
    for (auto peer = missing.begin(); peer != missing.end();) {
      const auto found = store.get(rank_key(options, generation, *peer));
      if (found) {
        addresses[static_cast<std::size_t>(*peer)] = addresses_of(*found, *peer, options.world);
      }
      peer = found ? missing.erase(peer) : std::next(peer);
    }
    if (missing.empty()) return addresses;
    store.watch();
    if (options.deadline.expired()) {
      const int peer = *missing.begin();
      throw TransportError(TransportError::Kind::kTimeout, peer,
                           "rank " + std::to_string(peer) + " (and " +
                               std::to_string(missing.size() - 1) +
                               " others) did not register in the store by the deadline");
    }
    sleep_until_next_look(options.deadline);
  }
}

std::string list_of(const std::set<int>& ranks) {
  std::string text;
  for (int rank : ranks) text += std::to_string(rank) + " ";
  return text;
}

std::vector<int> ranks_of(const std::string& list) {
  std::istringstream in(list);
  std::vector<int> ranks;
  for (int rank = 0; in >> rank;) ranks.push_back(rank);
  return ranks;
}

}  // namespace

std::unique_ptr<Mesh> meet(const Options& options, int generation) {
  check(options);
  const SigpipeBlock block;
  auto mesh = std::make_unique<Mesh>(options, options.rank, options.world);
  if (options.world == 1) return mesh;
  const auto store = open_store(options, options.deadline);
  if (!store->put(rank_key(options, generation, options.rank),
                  record(options.world, mesh->addresses()))) {
    throw Error("transport", "gloo: rank " + std::to_string(options.rank) + " of prefix '" +
                                 options.prefix +
                                 "' is taken: give every process its own rank, and every group "
                                 "a prefix that was not used before");
  }
  const auto addresses = collect_addresses(options, generation, *store);
  for (int peer = 0; peer < options.world; ++peer) {
    if (peer == options.rank) continue;
    mesh->connect(peer, addresses[static_cast<std::size_t>(peer)], options.deadline,
                  [&] { store->watch(); });
  }
  mesh->greet(key(options, generation, std::to_string(options.world)), options.deadline);
  return mesh;
}

std::vector<int> agree_on_survivors(const Options& options, int next_generation,
                                    const std::set<int>& dead, Deadline deadline) {
  if (options.world == 1) return {0};
  const auto store = open_store(options, deadline);
  const auto survivor_key = [&](int rank) {
    return key(options, next_generation, "survivor-" + std::to_string(rank));
  };
  const std::string members_key = key(options, next_generation, "members");
  const Deadline close_list = Deadline::after(deadline.remaining() / 4 * 3);
  const Deadline grace =
      Deadline::after(std::min<Deadline::Clock::duration>(kGrace, deadline.remaining() / 4));
  store->put(survivor_key(options.rank), "here");
  std::set<int> here{options.rank};
  for (;;) {
    if (const auto list = store->get(members_key)) {
      const auto members = ranks_of(*list);
      if (std::find(members.begin(), members.end(), options.rank) == members.end()) {
        throw TransportError(
            TransportError::Kind::kTimeout, options.rank,
            "the smaller group was formed without rank " + std::to_string(options.rank));
      }
      return members;
    }
    bool all_living = true;
    for (int rank = 0; rank < options.world; ++rank) {
      if (!here.contains(rank) && store->get(survivor_key(rank))) here.insert(rank);
      all_living = all_living && (here.contains(rank) || dead.contains(rank));
    }
    const bool all = here.size() == static_cast<std::size_t>(options.world);
    if (all || (all_living && grace.expired()) || close_list.expired()) {
      store->put(members_key,
                 list_of(here));  // another rank may have done it; the next read shows the list
    } else {
      sleep_until_next_look(deadline);
    }
  }
}

}  // namespace tandem::transport::gloo
