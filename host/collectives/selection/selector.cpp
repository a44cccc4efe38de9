// SPDX-License-Identifier: Apache-2.0
//
// Everything that decides is computed from the gathered headers in rank order, so it is the same
// arithmetic on every rank.
#include "collectives/selection/selector.h"
#include "collectives/frames/vocabulary.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <tuple>
#include <utility>

namespace tandem::collectives {
namespace {

constexpr std::uint32_t kMagic = 0x314c4553u;  // "SEL1"
constexpr std::uint32_t kHasSketch = 1;
constexpr std::uint32_t kDrifted = 2;
constexpr std::size_t kMaxSamples = 8;
constexpr int kSamplesToJudge = 2;
constexpr double kCountTolerance = 0.05;  // within which costs are not computed again
constexpr double kHopeless = 3;           // over the incumbent's time: no second trial soon

struct Fixed {
  std::uint32_t magic;
  std::uint32_t flags;
  std::uint64_t num_entries;
  double seconds;
};

// The lower one of an even number: noise only adds to times.
double lower_median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void keep_last(std::vector<double>& values, double value) {
  if (values.size() == kMaxSamples) values.erase(values.begin());
  values.push_back(value);
}

auto settings_of(const Problem& problem) {
  return std::tuple(problem.world, problem.ranks_per_node, problem.server_count,
                    problem.domain.num_units, problem.domain.width, problem.wire, problem.reduction,
                    problem.codec, problem.delta_ratio);
}

auto figures_of(const MachineModel& machine) {
  const LinkModel& link = machine.link;
  const ComputeModel& compute = machine.compute;
  return std::tuple(link.latency_s, link.bandwidth_bytes_per_s, link.node_latency_s,
                    link.node_bandwidth_bytes_per_s, link.message_s, link.bandwidth_is_shared,
                    compute.merge_s_per_entry, compute.codec_s_per_entry,
                    compute.dense_s_per_value);
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

const Scheme& Selector::choose(std::span<const ByteBuffer> profiles, const Problem& problem,
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
  update_problem(problem, reports);
  if (must_evaluate(machine)) evaluate(machine);
  expect();
  choose();
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
  measured.last_epoch = num_profiles_;
}

void Selector::update_problem(const Problem& problem, std::span<const Report> reports) {
  double entries = 0;
  bool drifted = false;
  for (const Report& report : reports) {
    entries += static_cast<double>(report.num_entries) / static_cast<double>(reports.size());
    drifted = drifted || report.drifted;
  }
  ++calls_since_profile_;
  if (profile_due_) {
    std::vector<RankProfile> profiles;
    for (const Report& report : reports) profiles.push_back(report.profile);
    profiled_ = problem;
    fill_from_profiles(profiled_, profiles);
    profiled_entries_ = entries;
    calls_since_profile_ = 0;
    ++num_profiles_;
    drifted = false;
  }
  problem_ = profiled_;
  problem_.ranks_per_node = problem.ranks_per_node;
  problem_.server_count = problem.server_count;
  problem_.wire = problem.wire;
  problem_.reduction = problem.reduction;
  problem_.codec = problem.codec;
  // Between profiles the unions grow and shrink with the entries.
  const double growth = profiled_entries_ > 0 ? entries / profiled_entries_ : 1;
  const auto units = static_cast<double>(problem_.domain.num_units);
  const double blocks = std::ceil(units * problem_.domain.width / 256);
  for (double& size : problem_.union_entries) size = std::min(size * growth, units);
  for (double& size : problem_.union_blocks) size = std::min(size * growth, blocks);
  profile_due_ = drifted || num_profiles_ < options_.initial_profiles ||
                 calls_since_profile_ + 1 >= options_.profile_period;
}

bool Selector::must_evaluate(const MachineModel& machine) const {
  if (ranking_.empty() || num_profiles_ != evaluated_profile_) return true;
  if (settings_of(problem_) != settings_of(evaluated_)) return true;
  if (figures_of(machine) != figures_of(evaluated_on_)) return true;
  const double before = evaluated_.union_entries[1];
  return std::fabs(problem_.union_entries[1] - before) > kCountTolerance * before;
}

void Selector::evaluate(const MachineModel& machine) {
  ranking_.clear();
  for (const Scheme* scheme : options_.candidates) {
    Candidate candidate;
    candidate.scheme = scheme;
    candidate.refusal = scheme->refusal(problem_);
    if (candidate.refusal.empty()) {
      candidate.cost = scheme->cost(problem_, machine.link, machine.compute);
    }
    ranking_.push_back(std::move(candidate));
  }
  evaluated_ = problem_;
  evaluated_on_ = machine;
  evaluated_profile_ = num_profiles_;
}

// Schemes that send their sums to a device share its speed; the others do not. If only one scheme
// of the class was measured, or none, a high ratio may be due to the scheme or to the device. Then
// the model's own figure is used.
double Selector::class_ratio(bool uses_aggregator) const {
  double of_class = 0, of_all = 0;
  int num_of_class = 0;
  for (const Candidate& candidate : ranking_) {
    if (candidate.num_measured == 0) continue;
    of_all = of_all == 0 ? candidate.ratio : std::min(of_all, candidate.ratio);
    if (candidate.scheme->uses_aggregator() != uses_aggregator) continue;
    of_class = of_class == 0 ? candidate.ratio : std::min(of_class, candidate.ratio);
    ++num_of_class;
  }
  if (num_of_class > 1) return of_class;
  const double ratio = num_of_class == 1 ? of_class : of_all;
  return ratio == 0 || ratio > options_.disappointment ? 1 : ratio;
}

void Selector::expect() {
  for (Candidate& candidate : ranking_) {
    const auto found = measured_.find(candidate.scheme->name());
    if (found == measured_.end()) continue;
    candidate.measured_s = lower_median(found->second.seconds);
    candidate.ratio = lower_median(found->second.ratios);
    candidate.num_measured = static_cast<int>(found->second.seconds.size());
  }
  const double ratios[] = {class_ratio(false), class_ratio(true)};
  for (Candidate& candidate : ranking_) {
    const double ratio =
        candidate.num_measured > 0 ? candidate.ratio : ratios[candidate.scheme->uses_aggregator()];
    candidate.expected_s = candidate.cost.seconds * ratio;
  }
  std::stable_sort(ranking_.begin(), ranking_.end(), [](const auto& a, const auto& b) {
    if (a.refusal.empty() != b.refusal.empty()) return a.refusal.empty();
    return a.refusal.empty() && a.expected_s < b.expected_s;
  });
  if (ranking_.empty() || !ranking_.front().refusal.empty()) {
    throw Error("selection", "no scheme can run this call: " +
                                 (ranking_.empty() ? std::string("none is a candidate")
                                                   : ranking_.front().refusal));
  }
}

// The most promising scheme that the model alone puts below the incumbent's time. A sample that
// looks hopeless may be noise: the second waits for the next profile.
const Candidate* Selector::find_trial(const Candidate& incumbent) const {
  for (const Candidate& candidate : ranking_) {
    if (!candidate.refusal.empty() || candidate.num_measured >= kSamplesToJudge) continue;
    if (candidate.scheme == incumbent.scheme) continue;
    if (candidate.cost.seconds >= options_.switching_gain * incumbent.expected_s) continue;
    if (candidate.num_measured == 0 || candidate.expected_s < kHopeless * incumbent.expected_s) {
      return &candidate;
    }
    if (measured_.find(candidate.scheme->name())->second.last_epoch != num_profiles_) {
      return &candidate;
    }
  }
  return nullptr;
}

void Selector::choose() {
  const Candidate* best = &ranking_.front();
  const auto found = std::ranges::find(ranking_, incumbent_, &Candidate::scheme);
  const Candidate* runs = best;
  reason_ = "the least expected time";
  if (found != ranking_.end() && found->refusal.empty() && best->scheme != incumbent_) {
    const std::string name(incumbent_->name());
    const bool is_better = best->expected_s < options_.switching_gain * found->expected_s;
    const bool disappoints = found->ratio > options_.disappointment;
    if (!is_better) {
      runs = &*found;
      reason_ = "kept: the best is not clearly better";
    } else if (found->num_measured > 0 && found->num_measured < kSamplesToJudge) {
      runs = &*found;
      reason_ = "kept: measured once, which may be noise";
    } else if (best->num_measured == 0 && disappoints) {
      runs = &*found;  // until the best has been tried, see below
    } else {
      reason_ = best->num_measured > 0 ? "measured faster than " + name + " is now expected to be"
                                       : name + " is slower than this is expected to be";
    }
  }
  incumbent_ = runs->scheme;
  if (runs->num_measured >= kSamplesToJudge && runs->ratio > options_.disappointment) {
    if (const Candidate* trial = find_trial(*runs)) {
      reason_ = "on trial: " + std::string(incumbent_->name()) +
                " takes longer than this one's model says";
      runs = trial;
    }
  }
  chosen_ = runs->scheme;
  chosen_model_s_ = runs->cost.seconds;
  const auto place = ranking_.begin() + (runs - ranking_.data());
  std::rotate(ranking_.begin(), place, place + 1);
}

}  // namespace tandem::collectives
