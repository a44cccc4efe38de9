// SPDX-License-Identifier: Apache-2.0
//
// One function per algorithm; collectives whose data differ per pair have one way only.
#include "trace/communication/collective_model.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <string>
#include <utility>

namespace tandem::trace {
namespace {

constexpr std::array<std::pair<CollectiveAlgorithm, const char*>, 6> kAlgorithms = {{
    {CollectiveAlgorithm::kRing, "ring"},
    {CollectiveAlgorithm::kTree, "tree"},
    {CollectiveAlgorithm::kDirect, "direct"},
    {CollectiveAlgorithm::kNvls, "nvls"},
    {CollectiveAlgorithm::kPat, "pat"},
    {CollectiveAlgorithm::kHalvingDoubling, "halving-doubling"},
}};

constexpr std::array<std::pair<Collective, const char*>, 9> kCollectives = {{
    {Collective::kAllReduce, "allreduce"},
    {Collective::kReduceScatter, "reducescatter"},
    {Collective::kAllGather, "allgather"},
    {Collective::kBroadcast, "broadcast"},
    {Collective::kReduce, "reduce"},
    {Collective::kAllToAll, "alltoall"},
    {Collective::kGather, "gather"},
    {Collective::kScatter, "scatter"},
    {Collective::kScan, "scan"},
}};

// Small letters without the marks between words.
std::string plain_name(std::string_view name) {
  std::string result;
  for (const unsigned char c : name) {
    if (c != '_' && c != '-' && c != ' ') result += static_cast<char>(std::tolower(c));
  }
  return result;
}

// The collective as one rank sees it.
class RankView {
 public:
  RankView(const CollectiveCall& call, int me, std::vector<Flow>& flows)
      : call_(call), n_(call.ranks), me_(me), flows_(flows) {}

  int n() const { return n_; }
  int me() const { return me_; }
  int at(int distance) const { return ((me_ + distance) % n_ + n_) % n_; }
  int from_root() const { return (me_ - call_.root + n_) % n_; }
  int of_root(int place) const { return (call_.root + place) % n_; }
  std::uint64_t bytes() const { return call_.bytes; }
  std::uint64_t unit_bytes() const { return call_.unit_bytes; }

  std::uint64_t total() const {
    if (call_.blocks.empty()) return call_.bytes;
    std::uint64_t sum = 0;
    for (const std::uint64_t block : call_.blocks) sum += block;
    return sum;
  }
  // The part of the buffer that belongs to a rank: its block, or 1/n of N.
  std::uint64_t chunk(int rank) const {
    const auto i = static_cast<std::uint64_t>((rank % n_ + n_) % n_);
    if (!call_.blocks.empty()) return call_.blocks[i];
    const auto n = static_cast<std::uint64_t>(n_);
    return call_.bytes / n + (i < call_.bytes % n ? 1 : 0);
  }

  void send(int to, std::uint64_t bytes, int messages = 1) { flow(me_, to, bytes, messages); }
  void flow(int from, int to, std::uint64_t bytes, int messages) {
    if (messages > 0) flows_.push_back({from, to, bytes, static_cast<std::uint64_t>(messages)});
  }

 private:
  const CollectiveCall& call_;
  const int n_, me_;
  std::vector<Flow>& flows_;
};

// The same for every algorithm. False: the algorithm decides.
bool has_one_way(RankView& view, Collective collective) {
  if (collective == Collective::kAllToAll) {
    for (int i = 1; i < view.n(); ++i) view.send(view.at(i), view.chunk(view.at(i)));
  } else if (collective == Collective::kGather) {
    if (view.from_root() != 0) view.send(view.of_root(0), view.bytes());
  } else if (collective == Collective::kScatter) {
    for (int i = 1; i < view.n() && view.from_root() == 0; ++i) view.send(view.at(i), view.bytes());
  } else if (collective == Collective::kScan) {
    if (view.me() + 1 < view.n()) view.send(view.me() + 1, view.bytes());
  } else {
    return false;
  }
  return true;
}

void ring_flows(RankView& view, Collective collective) {
  const int next = view.at(1), steps = view.n() - 1;
  switch (collective) {
    case Collective::kAllReduce:  // reduce-scatter that leaves chunk me + 1 here, then all-gather
      return view.send(next, 2 * view.bytes() - view.chunk(next) - view.chunk(next + 1), 2 * steps);
    case Collective::kReduceScatter:
      return view.send(next, view.total() - view.chunk(view.me()), steps);
    case Collective::kAllGather:
      return view.send(next, view.total() - view.chunk(next), steps);
    case Collective::kBroadcast:
      if (view.from_root() != steps) view.send(next, view.bytes());
      return;
    default:  // kReduce: the ring ends at the root
      if (view.from_root() != 0) view.send(next, view.bytes());
  }
}

void direct_flows(RankView& view, Collective collective) {
  const bool is_root = view.from_root() == 0;
  for (int i = 1; i < view.n(); ++i) {
    const int peer = view.at(i);
    if (collective == Collective::kAllReduce) {
      view.send(peer, view.chunk(peer) + view.chunk(view.me()), 2);
    } else if (collective == Collective::kReduceScatter) {
      view.send(peer, view.chunk(peer));
    } else if (collective == Collective::kAllGather) {
      view.send(peer, view.chunk(view.me()));
    } else if (collective == Collective::kBroadcast && is_root) {
      view.send(peer, view.bytes());
    } else if (collective == Collective::kReduce && !is_root && peer == view.of_root(0)) {
      view.send(peer, view.bytes());
    }
  }
}

struct TreePlace {
  int up = -1;
  std::array<int, 2> down = {-1, -1};
};

// The binary tree whose leaves are the even places: place 0 is the root, above the place with the
// highest bit.
TreePlace binary_tree(int n, int place) {
  TreePlace result;
  int bit = 1;
  while (bit < n && (place & bit) == 0) bit <<= 1;
  int low = bit >> 1;
  if (place == 0) {
    if (n > 1) result.down[0] = low;
    return result;
  }
  result.up = (place ^ bit) | (bit << 1);
  if (result.up >= n) result.up = place ^ bit;
  if (low > 0) result.down[0] = place - low;
  while (low > 0 && place + low >= n) low >>= 1;
  if (low > 0) result.down[1] = place + low;
  return result;
}

// The second tree of a pair: mirrored where n is even, shifted where it is odd, so inner places of
// one are leaves of the other.
int second_place(int n, int rank) { return n % 2 == 0 ? n - 1 - rank : (rank + n - 1) % n; }
int second_rank(int n, int place) { return n % 2 == 0 ? n - 1 - place : (place + 1) % n; }

void double_tree_flows(RankView& view) {
  const std::uint64_t first = view.bytes() - view.bytes() / 2, second = view.bytes() / 2;
  const TreePlace one = binary_tree(view.n(), view.me());
  const TreePlace two = binary_tree(view.n(), second_place(view.n(), view.me()));
  for (const int place : {one.up, one.down[0], one.down[1]}) {
    if (place >= 0) view.send(place, first);
  }
  for (const int place : {two.up, two.down[0], two.down[1]}) {
    if (place >= 0) view.send(second_rank(view.n(), place), second);
  }
}

// Binomial around the root: a place sends to those that differ in one bit below its lowest.
void rooted_tree_flows(RankView& view, Collective collective) {
  const int place = view.from_root();
  for (int bit = 1; bit < view.n(); bit <<= 1) {
    if ((place & bit) != 0) {
      if (collective == Collective::kReduce) view.send(view.of_root(place ^ bit), view.bytes());
      return;
    }
    const bool has_child = (place | bit) < view.n();
    if (collective == Collective::kBroadcast && has_child) {
      view.send(view.of_root(place | bit), view.bytes());
    }
  }
}

bool tree_flows(RankView& view, Collective collective) {
  if (collective == Collective::kAllReduce) {
    double_tree_flows(view);
  } else if (collective == Collective::kBroadcast || collective == Collective::kReduce) {
    rooted_tree_flows(view, collective);
  } else {
    return false;
  }
  return true;
}

bool nvls_flows(RankView& view, Collective collective) {
  std::uint64_t up = view.total(), down = view.total();
  if (collective == Collective::kAllGather) {
    up = view.chunk(view.me());
  } else if (collective == Collective::kReduceScatter) {
    down = view.chunk(view.me());
  } else if (collective != Collective::kAllReduce) {
    return false;
  }
  view.flow(view.me(), kSwitchRank, up, 1);
  view.flow(kSwitchRank, view.me(), down, 1);
  return true;
}

// As Bruck's: step k passes up to 2^k blocks over the distance 2^k.
bool pat_flows(RankView& view, Collective collective) {
  const bool gathers = collective == Collective::kAllGather;
  if (!gathers && collective != Collective::kReduceScatter) return false;
  for (int distance = 1; distance < view.n(); distance <<= 1) {
    const int peer = view.at(gathers ? distance : -distance);
    const int newest = gathers ? view.me() : peer;
    std::uint64_t bytes = 0;
    const int blocks = std::min(distance, view.n() - distance);
    for (int i = 0; i < blocks; ++i) bytes += view.chunk(newest - i + view.n());
    view.send(peer, bytes);
  }
  return true;
}

// A rank keeps half of its range in each round, and gives all of it back in the opposite order.
bool halving_doubling_flows(RankView& view, Collective collective) {
  if (collective != Collective::kAllReduce) return false;
  const int active = static_cast<int>(std::bit_floor(static_cast<unsigned>(view.n())));
  const int paired = 2 * (view.n() - active), me = view.me();
  if (me < paired) view.send(me ^ 1, view.bytes());
  if (me < paired && me % 2 == 1) return true;
  const int place = me < paired ? me / 2 : me - paired / 2;
  std::uint64_t units = view.bytes() / view.unit_bytes();
  for (int distance = active / 2; distance >= 1; distance /= 2) {
    const int peer = place ^ distance;
    const int rank = peer < paired / 2 ? 2 * peer : peer + paired / 2;
    view.send(rank, units * view.unit_bytes(), 2);
    units = (place & distance) == 0 ? units / 2 : units - units / 2;
  }
  return true;
}

bool special_flows(RankView& view, const CollectiveCall& call) {
  switch (call.algorithm) {
    case CollectiveAlgorithm::kTree:
      return tree_flows(view, call.collective);
    case CollectiveAlgorithm::kNvls:
      return nvls_flows(view, call.collective);
    case CollectiveAlgorithm::kPat:
      return pat_flows(view, call.collective);
    case CollectiveAlgorithm::kHalvingDoubling:
      return halving_doubling_flows(view, call.collective);
    case CollectiveAlgorithm::kDirect:
      direct_flows(view, call.collective);
      return true;
    case CollectiveAlgorithm::kRing:
      break;
  }
  return false;
}

}  // namespace

void model_flows(const CollectiveCall& call, int me, std::vector<Flow>& flows) {
  flows.clear();
  if (call.ranks < 2) return;
  RankView view(call, me, flows);
  if (has_one_way(view, call.collective)) return;
  if (!special_flows(view, call)) ring_flows(view, call.collective);
}

bool parse_algorithm(std::string_view name, CollectiveAlgorithm& algorithm) {
  const std::string plain = plain_name(name);
  for (const auto& [value, known] : kAlgorithms) {
    const std::string name_of_it = plain_name(known);
    if (plain != name_of_it && plain != name_of_it + "tree") continue;  // "NVLS_TREE"
    algorithm = value;
    return true;
  }
  return false;
}

bool parse_collective(std::string_view name, Collective& collective) {
  const std::string plain = plain_name(name);
  for (const auto& [value, known] : kCollectives) {
    if (plain != known) continue;
    collective = value;
    return true;
  }
  return false;
}

std::vector<std::string> algorithm_names() {
  std::vector<std::string> names;
  for (const auto& [value, name] : kAlgorithms) names.emplace_back(name);
  return names;
}

const char* name_of(CollectiveAlgorithm algorithm) {
  for (const auto& [value, name] : kAlgorithms) {
    if (value == algorithm) return name;
  }
  return "";
}

const char* name_of(Collective collective) {
  for (const auto& [value, name] : kCollectives) {
    if (value == collective) return name;
  }
  return "";
}

}  // namespace tandem::trace
