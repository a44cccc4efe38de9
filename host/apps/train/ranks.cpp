// SPDX-License-Identifier: Apache-2.0
//
// gloo's groups of one run share a folder and differ by their prefixes.
#include "apps/train/ranks.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <numeric>
#include <random>
#include <span>
#include <sstream>
#include <thread>

#include "collectives/collective.h"
#include "common/error.h"
#include "transport/gloo/gloo.h"
#include "transport/gloo/store.h"
#include "transport/mpi/mpi.h"

namespace tandem::apps {
namespace {

constexpr int kMostAttempts = 3;  // to connect the same ranks
constexpr std::chrono::milliseconds kLook{10};
constexpr const char* kGrown = "grown";
// MPI ranks do not wait longer than this for a slow network file system.
constexpr std::chrono::milliseconds kSight{5'000};

std::chrono::milliseconds timeout_of(const MeetingOptions& options) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(options.timeout_s * 1000));
}
Deadline deadline_of(const MeetingOptions& options) { return Deadline::after(timeout_of(options)); }

std::string decision_of(const std::string& prefix) { return "list-" + prefix + "-grown"; }

// Where a group's ranks find each other. A rank that has died is not waited for, neither to come
// nor to connect. Each look costs one at the lock of every rank.
class WatchedStore final : public transport::gloo::Store {
 public:
  WatchedStore(std::shared_ptr<Store> store, const MeetingFolder& folder, std::vector<int> numbers)
      : store_(std::move(store)), folder_(folder), numbers_(std::move(numbers)) {}

  bool put(const std::string& key, const std::string& value) override {
    return store_->put(key, value);
  }
  std::optional<std::string> get(const std::string& key) override { return store_->get(key); }
  void watch() override {
    for (const int number : numbers_) {
      if (folder_.rank_is_alive(number)) continue;
      throw transport::TransportError(
          transport::TransportError::Kind::kPeerLost, number,
          "rank " + std::to_string(number) +
              " has died before the group was complete; its own output says why");
    }
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

std::vector<int> numbers_of(std::istream& in) {
  std::vector<int> numbers;
  for (int number = 0; in >> number;) numbers.push_back(number);
  return numbers;
}

// The texts of all ranks, on all ranks.
std::vector<std::string> all_told(collectives::Group& group, const std::string& text,
                                  const MeetingOptions& options) {
  const collectives::CallOptions call{.timeout = timeout_of(options)};
  std::vector<std::string> texts;
  for (const auto& bytes : collectives::allgatherv(group, std::as_bytes(std::span(text)), call)) {
    texts.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return texts;
}

// The text of rank `from`, on all ranks.
std::string told(collectives::Group& group, int from, const std::string& text,
                 const MeetingOptions& options) {
  return all_told(group, group.rank() == from ? text : "", options)[static_cast<std::size_t>(from)];
}

}  // namespace

class Ranks::Mpi {
 public:
  transport::mpi::Environment environment;
};

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
    throw Error("train", std::to_string(place.world) +
                             " ranks that use gloo meet in a folder; name one by --store or --out");
  }
  folder_ = std::make_unique<MeetingFolder>(options.store);
  if (options.join) {
    join();
    return;
  }
  meet(place);
  connect_members();
}

// MPI's ranks need the folder only to tell who has died. They talk already; so they find out at
// once whether all of them see each other there, and else go on without it.
void Ranks::watch(const RankPlace& place) {
  const auto soon = std::min(timeout_of(options_), kSight);
  std::string word, prefix;
  std::string problem = first_problem([&] {
    folder_ = std::make_unique<MeetingFolder>(options_.store);
    word = folder_->enter(place.rank, Deadline::after(soon));
  });
  const std::vector<std::string> words = all_told(*group_, word, options_);
  if (problem.empty()) {
    problem =
        first_problem([&] { prefix = folder_->start(place.rank, words, Deadline::after(soon)); });
  }
  if (problem.empty()) return be_member(place, prefix);
  folder_.reset();
  if (place.rank == 0) spdlog::warn("{}; a rank that is lost may not be named", problem);
}

// The text of the first rank that cannot do its part; empty: all can.
std::string Ranks::first_problem(const std::function<void()>& part) {
  std::string problem;
  try {
    part();
  } catch (const Error& error) {
    problem = error.what();
  }
  for (const std::string& one : all_told(*group_, problem, options_)) {
    if (!one.empty()) return one;
  }
  return {};
}

// numbers: those of all ranks, which are watched; empty: not known yet.
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
  be_member(place, folder_->meet(place.rank, place.world, deadline_of(options_)));
}

// The first group of a run.
void Ranks::be_member(const RankPlace& place, const std::string& prefix) {
  number_ = place.rank;
  members_.prefix = prefix;
  members_.numbers.resize(static_cast<std::size_t>(place.world));
  std::iota(members_.numbers.begin(), members_.numbers.end(), 0);
}

// Repeats until a group with this process is formed.
void Ranks::join() {
  for (;;) {
    const GroupPlace place = folder_->wait_for_place();
    members_ = {place.prefix, {}};
    number_ = place.number;
    try {
      group_.emplace(connect(place, {}));
      std::istringstream numbers(told(*group_, 0, "", options_));
      members_.numbers = numbers_of(numbers);
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
  throw Error("train", "the run continues without this rank (" +
                           word.value_or("its ranks have not answered in time") +
                           "); start it again");
}

Ranks::~Ranks() = default;

// The group learns the cause first, so that a later failure does not hide it.
void Ranks::abort(const std::string& failure) noexcept {
  if (!group_) return;
  try {
    if (!group_->broken()) group_->abort(failure);
    if (folder_) folder_->report_failure(members_, number_, failure);
  } catch (const std::exception& error) {
    spdlog::warn("{}; so the other ranks may name another cause", error.what());
  }
}

void Ranks::send_heartbeat() noexcept {
  if (!folder_ || !group_) return;
  try {
    folder_->send_heartbeat(members_, number_);
  } catch (const std::exception&) {
    return;  // the next call of this rank fails by itself
  }
}

transport::TransportError Ranks::with_lost_ranks(const transport::TransportError& error) {
  using transport::TransportError;
  const TransportError cause = transport::first_cause(error);
  if (!folder_) return cause;
  FailureReports reports;
  try {
    reports = folder_->collect_reports(members_, number_, "", deadline_of(options_));
  } catch (const Error& unusable) {
    spdlog::warn("{}; a rank that is lost may not be named", unusable.what());
    return cause;
  }
  const bool gave_reason = cause.kind() == TransportError::Kind::kAborted &&
                           std::ranges::find(reports.absent, cause.peer()) != reports.absent.end();
  if (gave_reason && !folder_->rank_is_alive(cause.peer()))
    return cause;  // it ended after its abort
  if (!reports.absent.empty()) {
    const bool silent =
        std::ranges::any_of(reports.absent, [&](int n) { return folder_->rank_is_alive(n); });
    const bool one = reports.absent.size() == 1;
    return {
        cause.kind(), reports.absent.front(),
        list_of(reports.absent) + (one ? " is lost: " : " are lost: ") +
            (silent ? "no word for " + std::to_string(timeout_of(options_).count()) + " ms"
                    : std::string(one ? "its process has" : "their processes have") + " ended") +
            "; --resume continues from the last checkpoint",
        "train"};
  }
  if (reports.failures.empty()) return cause;
  const auto& [rank, failure] = *reports.failures.begin();
  return {cause.kind(), rank, "rank " + std::to_string(rank) + " ended: " + failure, "train"};
}

std::vector<int> Ranks::shrink() {
  const std::vector<int> before = members_.numbers;
  for (int attempt = 1;; ++attempt) {
    group_.reset();
    GroupMembers left = folder_->agree(members_, number_, deadline_of(options_));
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
  if (!options_.elastic || !folder_) return false;
  folder_->require_newest();
  return !folder_->waiting().empty();
}

// On rank 0: the new group's prefix, and the numbers of the joining ranks. "": nobody joins.
std::string Ranks::offer(const std::vector<std::string>& names) {
  if (names.empty()) return {};
  GroupPlace place{fmt::format("joined-{}", std::random_device{}()), group_->world(),
                   group_->world() + static_cast<int>(names.size()), members_.numbers.back()};
  std::string offered = place.prefix;
  for (const std::string& name : names) {
    place.number = folder_->reserve_number(place.number + 1);
    folder_->give(name, place);
    ++place.rank;
    offered += " " + std::to_string(place.number);
  }
  return offered;
}

// The common result of connecting to the new ranks: kGrown, or the reason for a failure. A rank
// that misses the messages of the others learns their decision.
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
  std::istringstream offered(told(*group_, 0, first ? offer(folder_->waiting()) : "", options_));
  offered >> place.prefix;
  const std::vector<int> joining = numbers_of(offered);
  if (joining.empty()) return false;
  GroupMembers members{place.prefix, members_.numbers};
  members.numbers.insert(members.numbers.end(), joining.begin(), joining.end());
  place.world = static_cast<int>(members.numbers.size());
  std::optional<collectives::Group> grown;
  std::string problem;
  try {
    grown.emplace(connect(place, members.numbers));
    told(*grown, 0, text_of(members.numbers), options_);
    check(*grown);
  } catch (const Error& error) {
    problem = error.what();
  }
  if (const std::string word = verdict(place.prefix, problem); word != kGrown) {
    if (first) spdlog::warn("{}; the run continues without new ranks", word);
    return false;
  }
  members_ = std::move(members);
  group_ = std::move(grown);
  return true;
}

}  // namespace tandem::apps
