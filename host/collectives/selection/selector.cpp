// SPDX-License-Identifier: Apache-2.0
//
// Everything that decides is computed from the gathered headers in rank order, so it is the same
// arithmetic on every rank.
#include "collectives/selection/selector.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "collectives/transport/transport_error.h"

namespace tandem::collectives {
namespace {

constexpr std::uint32_t kMagic = 0x314c4553u;  // "SEL1"
constexpr std::uint32_t kHasSketch = 1;
constexpr std::uint32_t kDrifted = 2;
constexpr std::size_t kMaxSamples = 8;
constexpr std::size_t kSamplesToJudge = 2;

struct Fixed {
  std::uint32_t magic;
  std::uint32_t flags;
  std::uint64_t num_entries;
  double seconds;
};

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void keep_last(std::vector<double>& values, double value) {
  if (values.size() == kMaxSamples) values.erase(values.begin());
  values.push_back(value);
}

}  // namespace

struct Selector::Report {
  std::uint64_t num_entries = 0;
  double seconds = 0;  // of the call before; 0: unknown
  bool drifted = false;
  bool has_sketch = false;
  RankProfile profile;

  static Report parse(std::span<const std::byte> bytes, int world) {
    Fixed fixed;
    if (bytes.size() < sizeof(fixed)) throw Error("selection", "the report ends early");
    std::memcpy(&fixed, bytes.data(), sizeof(fixed));
    bytes = bytes.subspan(sizeof(fixed));
    if (fixed.magic != kMagic) throw Error("selection", "not a report of the selection");
    if (!(fixed.seconds >= 0) || std::isinf(fixed.seconds)) {
      throw Error("selection", "the report has an impossible time");
    }
    Report report{fixed.num_entries,
                  fixed.seconds,
                  (fixed.flags & kDrifted) != 0,
                  (fixed.flags & kHasSketch) != 0,
                  {}};
    if (report.has_sketch) report.profile = RankProfile::parse(bytes, world);
    if (!bytes.empty()) throw Error("selection", "the report has bytes beyond its end");
    return report;
  }
};

Selector::Selector(SelectorOptions options) : options_(options) {
  if (options_.candidates.empty()) options_.candidates = all_schemes();
}

ByteBuffer Selector::header(const SparseVector& own, int world) {
  const auto entries = static_cast<double>(own.num_entries());
  const auto before = static_cast<double>(own_profiled_entries_);
  const bool drifted = std::fabs(entries - before) > options_.drift * std::max(before, 1.0);
  ByteBuffer bytes;
  append_value(bytes, Fixed{kMagic, (profile_due_ ? kHasSketch : 0) | (drifted ? kDrifted : 0),
                            own.num_entries(), own_seconds_});
  if (profile_due_) {
    profile_support(own, world).append_to(bytes);
    own_profiled_entries_ = own.num_entries();
  }
  return bytes;
}

const Scheme& Selector::choose(std::span<const ByteBuffer> profiles, Problem problem,
                               const MachineModel& machine) {
  std::vector<Report> reports;
  for (const ByteBuffer& bytes : profiles) {
    const auto rank = static_cast<int>(reports.size());
    try {
      reports.push_back(Report::parse(bytes, static_cast<int>(profiles.size())));
    } catch (const Error& error) {
      throw TransportError(TransportError::Kind::kGarbage, rank,
                           "rank " + std::to_string(rank) + " sent garbage: " + error.what());
    }
    if (reports.back().has_sketch != profile_due_) {
      throw TransportError(TransportError::Kind::kGarbage, rank,
                           "rank " + std::to_string(rank) + " has made other calls before");
    }
  }
  learn(reports);
  update_problem(std::move(problem), reports);
  rank_candidates(machine);
  settle();
  own_seconds_ = 0;
  return *chosen_;
}

void Selector::record(double seconds, std::uint64_t bytes_sent, std::uint64_t bytes_received) {
  own_seconds_ = std::max(seconds, 1e-9);
  own_sent_ = bytes_sent;
  own_received_ = bytes_received;
}

void Selector::learn(std::span<const Report> reports) {
  double slowest = 0;
  for (const Report& report : reports) {
    if (report.seconds <= 0) return;
    slowest = std::max(slowest, report.seconds);
  }
  if (chosen_ == nullptr || chosen_model_s_ <= 0) return;
  Measured& measured = measured_[std::string(chosen_->name())];
  keep_last(measured.seconds, slowest);
  keep_last(measured.ratios, slowest / chosen_model_s_);
}

void Selector::update_problem(Problem problem, std::span<const Report> reports) {
  double entries = 0;
  bool drifted = false;
  for (const Report& report : reports) {
    entries += static_cast<double>(report.num_entries) / static_cast<double>(reports.size());
    drifted = drifted || report.drifted;
  }
  ++calls_since_profile_;
  if (profile_due_) {
    profiles_.clear();
    for (const Report& report : reports) profiles_.push_back(report.profile);
    profiled_entries_ = entries;
    calls_since_profile_ = 0;
    ++num_profiles_;
    drifted = false;
  }
  fill_from_profiles(problem, profiles_);
  // Between profiles the unions grow and shrink with the entries.
  const double growth = profiled_entries_ > 0 ? entries / profiled_entries_ : 1;
  const auto units = static_cast<double>(problem.domain.num_units);
  const double blocks = std::ceil(units * problem.domain.width / 256);
  for (double& size : problem.union_entries) size = std::min(size * growth, units);
  for (double& size : problem.union_blocks) size = std::min(size * growth, blocks);
  problem_ = std::move(problem);
  profile_due_ = drifted || num_profiles_ < options_.initial_profiles ||
                 calls_since_profile_ + 1 >= options_.profile_period;
}

double Selector::correction(std::string_view scheme) const {
  if (const auto found = measured_.find(scheme); found != measured_.end()) {
    return median(found->second.ratios);
  }
  // What was never tried is as far off as the best that was, unless only one scheme was tried and
  // disappoints: then its model, not the machine's, may be at fault.
  if (measured_.empty()) return 1;
  if (measured_.size() == 1) {
    const auto& ratios = measured_.begin()->second.ratios;
    const double ratio = median(ratios);
    return ratios.size() >= kSamplesToJudge && ratio > options_.disappointment ? 1 : ratio;
  }
  double least = 0;
  for (const auto& [name, measured] : measured_) {
    const double ratio = median(measured.ratios);
    least = least == 0 ? ratio : std::min(least, ratio);
  }
  return least;
}

void Selector::rank_candidates(const MachineModel& machine) {
  ranking_.clear();
  for (const Scheme* scheme : options_.candidates) {
    Candidate candidate;
    candidate.scheme = scheme;
    candidate.refusal = scheme->refusal(problem_);
    if (candidate.refusal.empty()) {
      candidate.cost = scheme->cost(problem_, machine.link, machine.compute);
      candidate.predicted_s = candidate.cost.seconds * correction(scheme->name());
    }
    if (const auto found = measured_.find(scheme->name()); found != measured_.end()) {
      candidate.measured_s = median(found->second.seconds);
      candidate.num_measured = static_cast<int>(found->second.seconds.size());
    }
    ranking_.push_back(std::move(candidate));
  }
  std::stable_sort(ranking_.begin(), ranking_.end(), [](const auto& a, const auto& b) {
    if (a.refusal.empty() != b.refusal.empty()) return a.refusal.empty();
    return a.refusal.empty() && a.predicted_s < b.predicted_s;
  });
  if (ranking_.empty() || !ranking_.front().refusal.empty()) {
    throw Error("selection", "no scheme can run this call: " +
                                 (ranking_.empty() ? std::string("none is a candidate")
                                                   : ranking_.front().refusal));
  }
}

void Selector::settle() {
  const Candidate& best = ranking_.front();
  const auto present =
      std::find_if(ranking_.begin(), ranking_.end(), [&](const Candidate& candidate) {
        return candidate.scheme == chosen_ && candidate.refusal.empty();
      });
  if (present == ranking_.end()) {
    reason_ = "the least predicted time";
    chosen_ = best.scheme;
    chosen_model_s_ = best.cost.seconds;
  } else if (present->scheme != best.scheme &&
             best.predicted_s < options_.switching_gain * present->predicted_s) {
    reason_ =
        best.num_measured > 0
            ? "measured faster than " + std::string(chosen_->name()) + " is now expected to be"
            : std::string(chosen_->name()) + " is slower than this is expected to be";
    chosen_ = best.scheme;
    chosen_model_s_ = best.cost.seconds;
  } else {
    reason_ = present->scheme == best.scheme ? "the least predicted time"
                                             : "kept: the best is not clearly better";
    chosen_model_s_ = present->cost.seconds;
    std::rotate(ranking_.begin(), present, present + 1);
  }
}

}  // namespace tandem::collectives
