// SPDX-License-Identifier: Apache-2.0
//
// gloo's groups of one run have prefixes of their own in one folder.
#include "apps/train/ranks.h"

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

#include "collectives/collective.h"
#include "common/error.h"
#include "transport/gloo/gloo.h"
#include "transport/mpi/mpi.h"
#include "transport/transport_error.h"

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

Deadline deadline_of(double timeout_s) {
  return Deadline::after(std::chrono::milliseconds(static_cast<std::int64_t>(timeout_s * 1000)));
}

std::string text_of(const std::vector<int>& numbers) {
  std::string text;
  for (const int number : numbers) text += std::to_string(number) + " ";
  return text;
}

// The text of rank `from`, on all ranks.
std::string told(collectives::Group& group, int from, const std::string& text,
                 const MeetingOptions& options) {
  collectives::CallOptions call;
  call.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(options.timeout_s * 1000));
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

Ranks::Ranks(const RankPlace& place, const MeetingOptions& options) : options_(options) {
  if (place.world == 1 && !options.elastic) return;
  const bool takes_mpi = place.under_mpi && !options.elastic && transport::mpi::available();
  if (options.transport == "mpi" || (options.transport == "auto" && takes_mpi)) {
    mpi_ = std::make_unique<Mpi>();
    group_.emplace(transport::mpi::connect(mpi_->environment, deadline_of(options.timeout_s)));
    return;
  }
  if (options.store.empty()) {
    throw Error("train", "ranks that use gloo meet in a folder; name one by --store or --out");
  }
  folder_ = std::make_unique<MeetingFolder>(options.store);
  options.join ? join() : begin(place);
}

collectives::Group Ranks::connect(const GroupPlace& place) const {
  transport::gloo::Options gloo;
  gloo.rank = place.rank;
  gloo.world = place.world;
  gloo.store_directory = options_.store;
  gloo.prefix = place.prefix;
  gloo.address = options_.address;
  gloo.deadline = deadline_of(options_.timeout_s);
  return collectives::Group(transport::gloo::connect(gloo));
}

void Ranks::begin(const RankPlace& place) {
  const std::string prefix =
      folder_->meet(place.rank, place.world, deadline_of(options_.timeout_s));
  group_.emplace(connect({prefix, place.rank, place.world}));
  numbers_.resize(static_cast<std::size_t>(place.world));
  std::iota(numbers_.begin(), numbers_.end(), 0);
  next_number_ = place.world;
}

// Until a group with this process has come about.
void Ranks::join() {
  for (;;) {
    const GroupPlace place = folder_->wait_for_place();
    try {
      group_.emplace(connect(place));
      std::istringstream numbers(told(*group_, 0, "", options_));
      for (int number = 0; numbers >> number;) numbers_.push_back(number);
      next_number_ = numbers_.back() + 1;
      return;
    } catch (const transport::TransportError& error) {
      spdlog::warn("{}; waits for the next checkpoint", error.what());
      group_.reset();
      numbers_.clear();
    }
  }
}

Ranks::~Ranks() = default;

std::vector<int> Ranks::shrink() {
  const auto own = static_cast<std::size_t>(group_->rank());
  const std::vector<int> before = numbers_;
  const int number = before.empty() ? group_->rank() : before[own];
  *group_ = group_->shrink(deadline_of(options_.timeout_s));
  numbers_.clear();
  for (int rank = 0; rank < group_->world(); ++rank) {
    numbers_.push_back(std::stoi(told(*group_, rank, std::to_string(number), options_)));
  }
  std::vector<int> lost;
  std::ranges::set_difference(before, numbers_, std::back_inserter(lost));
  return lost;
}

bool Ranks::ranks_wait() const { return folder_ && !folder_->waiting().empty(); }

// Rank 0's: the new group's prefix, and how many join. "": nobody does.
std::string Ranks::offer(const std::vector<std::string>& names) {
  if (names.empty()) return {};
  GroupPlace place{"joined-" + std::to_string(std::random_device{}()), group_->world(),
                   group_->world() + static_cast<int>(names.size())};
  for (const std::string& name : names) {
    folder_->give(name, place);
    ++place.rank;
  }
  return place.prefix + " " + std::to_string(names.size());
}

bool Ranks::grow(const std::function<void(collectives::Group&)>& check) {
  const bool first = group_->rank() == 0;
  GroupPlace place{"", group_->rank(), 0};
  int joining = 0;
  std::istringstream(told(*group_, 0, first ? offer(folder_->waiting()) : "", options_)) >>
      place.prefix >> joining;
  if (joining == 0) return false;
  place.world = group_->world() + joining;
  std::vector<int> numbers = numbers_;
  for (int rank = 0; rank < joining; ++rank) numbers.push_back(next_number_ + rank);
  std::optional<collectives::Group> grown;
  std::string problem;
  try {
    grown.emplace(connect(place));
    told(*grown, 0, text_of(numbers), options_);
    check(*grown);
  } catch (const Error& error) {
    problem = error.what();
  }
  for (int rank = 0; rank < group_->world(); ++rank) {
    if (const auto text = told(*group_, rank, problem, options_); !text.empty()) {
      if (first) spdlog::warn("{}; the run goes on without new ranks", text);
      return false;
    }
  }
  numbers_ = numbers;
  next_number_ += joining;
  group_ = std::move(grown);
  return true;
}

}  // namespace tandem::apps
