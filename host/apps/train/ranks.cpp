// SPDX-License-Identifier: Apache-2.0
//
// gloo's groups of one run have prefixes of their own in one folder.
#include "apps/train/ranks.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <iterator>
#include <numeric>
#include <random>
#include <span>
#include <sstream>
#include <string_view>
#include <thread>

#include "collectives/collective.h"
#include "common/error.h"
#include "transport/gloo/gloo.h"
#include "transport/gloo/store.h"
#include "transport/mpi/mpi.h"

namespace tandem::apps {
namespace {

struct Launcher {
  const char *rank, *world, *local_world;
  bool is_mpi;
};

constexpr std::array kLaunchers = {
    Launcher{"RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", false},
    Launcher{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", true},
    Launcher{"PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS", true},
    Launcher{"SLURM_PROCID", "SLURM_NTASKS", "SLURM_NTASKS_PER_NODE", false},
};

std::optional<int> number_of(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  const std::string_view view(text);
  int number = 0;
  const auto parsed = std::from_chars(view.data(), view.data() + view.size(), number);
  if (parsed.ec != std::errc() || parsed.ptr != view.data() + view.size() || number < 0) {
    throw Error("train",
                std::string("the environment's ") + variable + " is '" + text + "', not a number");
  }
  return number;
}

constexpr int kMostAttempts = 3;  // to connect the same ranks
constexpr std::chrono::milliseconds kLook{10};
constexpr const char* kGrown = "grown";

std::chrono::milliseconds timeout_of(const MeetingOptions& options) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(options.timeout_s * 1000));
}
Deadline deadline_of(const MeetingOptions& options) { return Deadline::after(timeout_of(options)); }

std::string decision_of(const std::string& prefix) { return "list-" + prefix + "-grown"; }

// Where a group's ranks find each other. A rank that has died is not waited for.
class WatchedStore final : public transport::gloo::Store {
 public:
  WatchedStore(std::shared_ptr<Store> store, const MeetingFolder& folder, std::vector<int> numbers)
      : store_(std::move(store)), folder_(folder), numbers_(std::move(numbers)) {}

  bool put(const std::string& key, const std::string& value) override {
    return store_->put(key, value);
  }
  std::optional<std::string> get(const std::string& key) override {
    auto value = store_->get(key);
    if (value) return value;
    for (const int number : numbers_) {
      if (folder_.lives(number)) continue;
      throw transport::TransportError(
          transport::TransportError::Kind::kPeerLost, number,
          "rank " + std::to_string(number) + " has died before the group was complete");
    }
    return std::nullopt;
  }

 private:
  std::shared_ptr<Store> store_;
  const MeetingFolder& folder_;
  const std::vector<int> numbers_;
};

std::string text_of(const std::vector<int>& numbers) {
  std::string text;
  for (const int number : numbers) text += std::to_string(number) + " ";
  return text;
}

// The text of rank `from`, on all ranks.
std::string told(collectives::Group& group, int from, const std::string& text,
                 const MeetingOptions& options) {
  const collectives::CallOptions call{.timeout = timeout_of(options)};
  const bool speaks = group.rank() == from;
  const auto texts = collectives::allgatherv(
      group, speaks ? std::as_bytes(std::span(text)) : std::span<const std::byte>(), call);
  const auto& bytes = texts[static_cast<std::size_t>(from)];
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

RankPlace find_rank_place() {
  for (const Launcher& launcher : kLaunchers) {
    const auto rank = number_of(launcher.rank), world = number_of(launcher.world);
    if (!rank && !world) continue;
    if (!rank || !world || *rank >= *world) {
      throw Error("train", std::string("the environment's ") + launcher.rank + " and " +
                               launcher.world + " do not fit each other");
    }
    return {*rank, *world, std::max(1, number_of(launcher.local_world).value_or(*world)),
            launcher.is_mpi};
  }
  return {};
}

class Ranks::Mpi {
 public:
  transport::mpi::Environment environment;
};

bool outlives_ranks(const RankPlace& place) {
  if (!place.under_mpi || std::getenv("OMPI_COMM_WORLD_RANK") == nullptr) return true;
  return std::getenv("OMPI_MCA_orte_enable_recovery") != nullptr;
}

std::string list_of(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank" : "ranks";
  for (std::size_t at = 0; at < ranks.size(); ++at) {
    text += (at == 0 ? " " : ", ") + std::to_string(ranks[at]);
  }
  return text;
}

Ranks::Ranks(const RankPlace& place, const MeetingOptions& options) : options_(options) {
  if (place.world == 1 && !options.elastic) return;
  const bool takes_mpi = place.under_mpi && !options.elastic && transport::mpi::available();
  if (options.transport == "mpi" || (options.transport == "auto" && takes_mpi)) {
    mpi_ = std::make_unique<Mpi>();
    group_.emplace(transport::mpi::connect(mpi_->environment, deadline_of(options)));
    if (!options.store.empty()) watch(place);
    return;
  }
  if (options.store.empty()) {
    throw Error("train", "ranks that use gloo meet in a folder; name one by --store or --out");
  }
  folder_ = std::make_unique<MeetingFolder>(options.store);
  if (options.join) {
    join();
    return;
  }
  meet(place);
  connect_members();
}

// MPI's ranks need the folder only to tell who has died.
void Ranks::watch(const RankPlace& place) {
  try {
    folder_ = std::make_unique<MeetingFolder>(options_.store);
    meet(place);
  } catch (const Error& error) {
    folder_.reset();
    spdlog::warn("{}; a rank that is lost may not be named", error.what());
  }
}

// numbers: of all ranks, which are watched; empty: they are not known yet.
collectives::Group Ranks::connect(const GroupPlace& place, const std::vector<int>& numbers) const {
  transport::gloo::Options gloo;
  gloo.rank = place.rank;
  gloo.world = place.world;
  gloo.store_directory = options_.store;
  gloo.prefix = place.prefix;
  gloo.address = options_.address;
  gloo.deadline = deadline_of(options_);
  gloo.store = std::make_shared<WatchedStore>(transport::gloo::open_store(gloo, gloo.deadline),
                                              *folder_, numbers);
  return collectives::Group(transport::gloo::connect(gloo));
}

void Ranks::connect_members() {
  const auto own = std::ranges::find(members_.numbers, number_);
  const GroupPlace place{members_.prefix, static_cast<int>(own - members_.numbers.begin()),
                         static_cast<int>(members_.numbers.size()), number_};
  group_.emplace(connect(place, members_.numbers));
}

void Ranks::meet(const RankPlace& place) {
  number_ = place.rank;
  members_.prefix = folder_->meet(place.rank, place.world, deadline_of(options_));
  members_.numbers.resize(static_cast<std::size_t>(place.world));
  std::iota(members_.numbers.begin(), members_.numbers.end(), 0);
  next_number_ = place.world;
}

// Until a group with this process has come about.
void Ranks::join() {
  for (;;) {
    const GroupPlace place = folder_->wait_for_place();
    members_ = {place.prefix, {}};
    number_ = place.number;
    try {
      group_.emplace(connect(place, {}));
      std::istringstream numbers(told(*group_, 0, "", options_));
      for (int number = 0; numbers >> number;) members_.numbers.push_back(number);
      next_number_ = members_.numbers.back() + 1;
      return;
    } catch (const transport::TransportError& error) {
      spdlog::warn("{}; waits for the next checkpoint", error.what());
      group_.reset();
    }
  }
}

void Ranks::confirm() const {
  const Deadline deadline = deadline_of(options_);
  std::optional<std::string> word;
  while (!(word = folder_->decided(decision_of(members_.prefix))) && !deadline.expired()) {
    std::this_thread::sleep_for(kLook);
  }
  if (word == kGrown) return;
  throw Error("train", "the run goes on without this rank (" +
                           word.value_or("its ranks have not answered in time") +
                           "); start it again");
}

Ranks::~Ranks() = default;

void Ranks::abort(const std::string& failure) {
  if (!group_ || group_->broken()) return;
  if (folder_) folder_->sign_roll(members_, number_, failure);
  group_->abort(failure);
}

transport::TransportError Ranks::explained(const transport::TransportError& error) {
  using transport::TransportError;
  const TransportError cause = transport::first_cause(error);
  if (!folder_) return cause;
  const Deadline deadline = deadline_of(options_);
  const Roll roll = folder_->call_roll(members_, number_, "", deadline);
  if (!roll.absent.empty()) {
    const bool silent = std::ranges::any_of(roll.absent, [&](int n) { return folder_->lives(n); });
    const bool one = roll.absent.size() == 1;
    return {
        cause.kind(), roll.absent.front(),
        list_of(roll.absent) + (one ? " is lost: " : " are lost: ") +
            (silent ? "no word for " + std::to_string(timeout_of(options_).count()) + " ms"
                    : std::string(one ? "its process has" : "their processes have") + " ended") +
            "; --resume goes on from the last checkpoint",
        "train"};
  }
  if (roll.failures.empty()) return cause;
  const auto& [rank, failure] = *roll.failures.begin();
  return {cause.kind(), rank, "rank " + std::to_string(rank) + " ended: " + failure, "train"};
}

std::vector<int> Ranks::shrink() {
  const std::vector<int> before = members_.numbers;
  for (int attempt = 1;; ++attempt) {
    group_.reset();
    GroupMembers left =
        folder_->agree(members_, number_, Deadline::after(timeout_of(options_) / 4 * 3));
    if (left.numbers.size() < members_.numbers.size()) attempt = 1;
    members_ = std::move(left);
    try {
      connect_members();
      break;
    } catch (const transport::TransportError& error) {
      if (attempt == kMostAttempts) throw;
      spdlog::warn("{}", error.what());
    }
  }
  std::vector<int> lost;
  std::ranges::set_difference(before, members_.numbers, std::back_inserter(lost));
  return lost;
}

bool Ranks::ranks_wait() const {
  return options_.elastic && folder_ && !folder_->waiting().empty();
}

// Rank 0's: the new group's prefix, and how many join. "": nobody does.
std::string Ranks::offer(const std::vector<std::string>& names) {
  if (names.empty()) return {};
  GroupPlace place{fmt::format("joined-{}", std::random_device{}()), group_->world(),
                   group_->world() + static_cast<int>(names.size()), next_number_};
  for (const std::string& name : names) {
    folder_->give(name, place);
    ++place.rank;
    ++place.number;
  }
  return place.prefix + " " + std::to_string(names.size());
}

// What all ranks make of their connections to the new ones: kGrown, or why not. A rank that misses
// what the others say learns what they have decided.
std::string Ranks::verdict(const std::string& prefix, const std::string& problem) {
  std::string word = kGrown;
  std::optional<transport::TransportError> lost;
  try {
    for (int rank = 0; rank < group_->world(); ++rank) {
      const std::string text = told(*group_, rank, problem, options_);
      if (!text.empty() && word == kGrown) word = text;
    }
  } catch (const transport::TransportError& error) {
    lost = error;
    word = error.what();
  }
  word = folder_->decide(decision_of(prefix), word);
  if (lost && word != kGrown) throw transport::TransportError(*lost);
  return word;
}

bool Ranks::grow(const std::function<void(collectives::Group&)>& check) {
  const bool first = group_->rank() == 0;
  GroupPlace place{"", group_->rank(), 0, number_};
  int joining = 0;
  std::istringstream(told(*group_, 0, first ? offer(folder_->waiting()) : "", options_)) >>
      place.prefix >> joining;
  if (joining == 0) return false;
  place.world = group_->world() + joining;
  GroupMembers members{place.prefix, members_.numbers};
  for (int rank = 0; rank < joining; ++rank) members.numbers.push_back(next_number_ + rank);
  std::optional<collectives::Group> grown;
  std::string problem;
  try {
    grown.emplace(connect(place, members.numbers));
    told(*grown, 0, text_of(members.numbers), options_);
    check(*grown);
  } catch (const Error& error) {
    problem = error.what();
  }
  next_number_ += joining;  // those that do not come about are not given again
  if (const std::string word = verdict(place.prefix, problem); word != kGrown) {
    if (first) spdlog::warn("{}; the run goes on without new ranks", word);
    return false;
  }
  members_ = std::move(members);
  group_ = std::move(grown);
  return true;
}

}  // namespace tandem::apps
