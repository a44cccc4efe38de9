// SPDX-License-Identifier: Apache-2.0
//
// Measures batches of one unit: an empty one, many rows, many tokens, many rows over the same
// tokens.
//
// Sequences have their own pages, and batches go through the layers in turn, so caches hold as
// little of what is read as in a step. Each figure is the median of a few repetitions: the least
// one is shorter than most steps are.
#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "common/error.h"
#include "common/median.h"
#include "engine/planning/estimate_costs.h"
#include "engine/planning/measure_costs.h"

namespace tandem::engine {
namespace {

using ProbeClock = std::chrono::steady_clock;

constexpr int kRepetitions = 3;
constexpr int kMostPages = 512;
constexpr int kMostLayers = 16;
// The least share of a measured time that counts as arithmetic, because noise may hide all of it.
constexpr double kLeastPart = 0.05;
constexpr int kSequences = 8;
constexpr int kRowsOverTheSame = 16;
constexpr std::chrono::seconds kProbeTimeout{10};

double seconds_from(ProbeClock::time_point begin) {
  return std::chrono::duration<double>(ProbeClock::now() - begin).count();
}

// The rows and tokens of every sequence of a batch.
struct ProbeBatch {
  int sequences = 1, rows = 1, tokens = 1;
};

class UnitProbe {
 public:
  UnitProbe(const NamedUnit& unit, int max_rows)
      : unit_(*unit.unit),
        id_(unit.id),
        geometry_(unit_.geometry()),
        num_pages_(std::min<int>(kMostPages, static_cast<int>(unit_.capacity().num_pages))),
        max_rows_(max_rows),
        q_width_(static_cast<std::size_t>(geometry_.q_heads * geometry_.head_dim)),
        kv_width_(static_cast<std::size_t>(geometry_.kv_heads * geometry_.head_dim)) {
    const auto rows = static_cast<std::size_t>(std::max(max_rows, geometry_.page_tokens));
    q_.assign(rows * q_width_, 0.01f);
    k_.resize(rows * kv_width_);
    for (std::size_t i = 0; i < k_.size(); ++i) k_[i] = static_cast<float>(i % 97) * 0.01f - 0.5f;
    o_.resize(rows * q_width_);
    lse_.resize(rows * static_cast<std::size_t>(geometry_.q_heads));
    for (int page = 0; page < num_pages_; ++page) {
      pages_.push_back(static_cast<device::PageId>(page));
    }
  }

  int num_tokens() const { return num_pages_ * geometry_.page_tokens; }
  int max_rows() const { return max_rows_; }
  int num_pages() const { return num_pages_; }

  // Fills the pages of the layers with tokens, as many pages as the time allows.
  void fill(double seconds) {
    const auto start = ProbeClock::now();
    const int pages_at_once = std::max(1, max_rows_ / geometry_.page_tokens);
    const int tokens = std::min(geometry_.page_tokens, max_rows_);
    for (int begin = 0; begin < num_pages_; begin += pages_at_once) {
      const int count = std::min(pages_at_once, num_pages_ - begin);
      sequences_.clear();
      for (int i = 0; i < count; ++i) {
        device::AttentionSequence& sequence = sequences_.emplace_back();
        sequence.new_begin = i * tokens;
        sequence.num_new = tokens;
        sequence.num_attend = tokens;
        sequence.page_begin = begin + i;
        sequence.num_pages = 1;
      }
      for (int layer = 0; layer < num_layers(); ++layer) run(layer, 0, count * tokens);
      if (seconds_from(start) > seconds) num_pages_ = begin + count;
    }
    pages_.resize(static_cast<std::size_t>(num_pages_));
  }

  // The usual time of a few repetitions.
  double attend(const ProbeBatch& batch) {
    sequences_.clear();
    const int pages = (batch.tokens + geometry_.page_tokens - 1) / geometry_.page_tokens;
    for (int i = 0; i < batch.sequences; ++i) {
      device::AttentionSequence& sequence = sequences_.emplace_back();
      sequence.q_begin = i * batch.rows;
      sequence.num_q = batch.rows;
      sequence.num_attend = batch.tokens;
      sequence.page_begin = i * pages % std::max(1, num_pages_ - pages + 1);
      sequence.num_pages = pages;
    }
    std::vector<double> times;
    for (int i = 0; i <= kRepetitions; ++i) {  // the first warms up
      const double seconds = run(next_layer_, batch.sequences * batch.rows, 0);
      next_layer_ = (next_layer_ + 1) % num_layers();
      if (i > 0) times.push_back(seconds);
    }
    return median(std::move(times));
  }

  struct Moves {
    double out_s = 0, in_s = 0;
    double bytes = 0;
  };
  Moves move_page() {
    std::vector<std::byte> image(device::page_image_bytes(geometry_));
    Moves moves{0, 0, static_cast<double>(image.size())};
    for (int i = 0; i < 2; ++i) {
      auto begin = ProbeClock::now();
      expect_done(unit_.export_page(0, image, Deadline::after(kProbeTimeout)));
      moves.out_s = seconds_from(begin);
      begin = ProbeClock::now();
      expect_done(unit_.import_page(0, image, Deadline::after(kProbeTimeout)));
      moves.in_s = seconds_from(begin);
    }
    return moves;
  }

 private:
  int num_layers() const { return std::min(kMostLayers, geometry_.num_layers); }

  void expect_done(device::WaitResult result) const {
    if (result == device::WaitResult::kDone) return;
    throw Error("cost model", id_ + " gave no answer while it was measured");
  }

  double run(int layer, int num_q, int num_new) {
    device::AttentionBatch batch;
    batch.layer = layer;
    batch.q = std::span(q_).first(static_cast<std::size_t>(num_q) * q_width_);
    batch.k = std::span(k_).first(static_cast<std::size_t>(num_new) * kv_width_);
    batch.v = batch.k;
    batch.sequences = sequences_;
    batch.pages = pages_;
    const auto rows = static_cast<std::size_t>(num_q);
    const auto begin = ProbeClock::now();
    const device::Ticket ticket = unit_.submit(
        batch, {std::span(o_).first(rows * q_width_),
                std::span(lse_).first(rows * static_cast<std::size_t>(geometry_.q_heads))});
    expect_done(unit_.wait(ticket, Deadline::after(kProbeTimeout)));
    return seconds_from(begin);
  }

  device::AttentionUnit& unit_;
  const std::string id_;
  const device::AttentionGeometry geometry_;
  int num_pages_;
  int next_layer_ = 0;
  const int max_rows_;
  const std::size_t q_width_, kv_width_;
  std::vector<float> q_, k_, o_, lse_;
  std::vector<device::PageId> pages_;
  std::vector<device::AttentionSequence> sequences_;
};

void measure_attention(UnitProbe& probe, double empty_s, double row_s, double seconds,
                       planner::AttentionCost& cost) {
  const auto begin = ProbeClock::now();
  const int sequences = std::min({kSequences, probe.num_pages(), probe.max_rows()});
  std::vector<planner::CurvePoint> points = {{0, 0}};
  const int most = probe.num_tokens() / sequences;
  for (int tokens = std::min(16, most); tokens <= most; tokens *= 4) {
    const double whole_s = probe.attend({sequences, 1, tokens});
    const double spent =
        std::max(kLeastPart * whole_s, whole_s - empty_s - (sequences - 1) * row_s);
    points.push_back({static_cast<double>(sequences) * tokens, std::max(points.back().y, spent)});
    if (seconds_from(begin) > seconds) break;
  }
  cost.by_tokens = planner::Curve(points);
  const int rows = std::min(kRowsOverTheSame, probe.max_rows());
  const int tokens = std::max(1, static_cast<int>(points.back().x) / sequences);
  const double whole_s = probe.attend({1, rows, tokens});
  const double spent = whole_s - empty_s - (rows - 1) * row_s;
  cost.per_pair_s = std::max(kLeastPart * whole_s, spent) / rows / tokens;
  cost.rows_per_read = 1 << 20;  // per_pair_s has the reads of further rows in it
}

planner::DeviceCost measure_by(UnitProbe& probe, const NamedUnit& unit,
                               const MeasureOptions& options) {
  probe.fill(options.seconds_per_unit);
  const double empty_s = probe.attend({1, 1, 1});
  const int rows = std::min({32, options.max_rows, probe.num_pages()});
  const double row_s =
      rows > 1 ? std::max(0.0, probe.attend({rows, 1, 1}) - empty_s) / (rows - 1) : 0;
  planner::DeviceCost cost;
  cost.id = unit.id;
  planner::AttentionCost& attention = cost.attention.emplace_back();
  const device::AttentionGeometry& geometry = unit.unit->geometry();
  attention.kind = attention_kind(geometry);
  measure_attention(probe, empty_s, row_s, options.seconds_per_unit, attention);
  attention.per_row_s = row_s;
  const UnitProbe::Moves moves = probe.move_page();
  cost.page_move_s = std::max(moves.out_s, moves.in_s);
  if (unit.unit->capacity().link_bandwidth_bytes_per_s <= 0) {
    cost.launch_s = empty_s;
    return cost;
  }
  cost.to_device = {empty_s / 2, moves.bytes / moves.in_s};
  cost.from_device = {empty_s / 2, moves.bytes / moves.out_s};
  const RowBytes bytes = row_bytes(geometry);
  attention.per_row_s = std::max(0.0, row_s - bytes.to_unit / cost.to_device.bytes_per_s -
                                          bytes.from_unit / cost.from_device.bytes_per_s);
  return cost;
}

}  // namespace

// A unit that has not answered may still write its results, so the probe keeps its buffers for
// ever.
planner::DeviceCost measure_unit(const NamedUnit& unit, const MeasureOptions& options) {
  static std::vector<std::unique_ptr<UnitProbe>> set_aside;
  auto probe = std::make_unique<UnitProbe>(unit, options.max_rows);
  try {
    return measure_by(*probe, unit, options);
  } catch (const std::exception&) {
    set_aside.push_back(std::move(probe));
    throw;
  }
}

}  // namespace tandem::engine
