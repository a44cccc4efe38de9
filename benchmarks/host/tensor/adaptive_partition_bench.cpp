// SPDX-License-Identifier: Apache-2.0
//
// An adaptive partition against static grids while the pattern drifts, iteration by iteration in
// turns.
//
// 1 M entries in 1024^3: a cube of 116 cells a side is half full and moves by a cell per iteration;
// a fifth of the entries are the background. An iteration takes the change, two planes of the cube,
// and runs MTTKRP of rank 16 in every mode. Times of the adaptive partition include its rounds. A
// static grid is the same code without rounds. "tuned" is an adaptive partition with options that
// short runs before the race found, or an earlier run kept. Results are compared in every
// iteration. Argument: threads (default 2).
#include <array>
#include <cmath>
#include <cstdlib>
#include <random>
#include <set>

#include "drivers/cpu/samples.h"
#include "tensor/sparse/adaptive/adaptive_partition.h"
#include "tensor/sparse/adaptive/partition_tuning.h"

namespace tandem::bench {
namespace {

using namespace sparse;

constexpr std::uint64_t kSide = 1024;
constexpr std::uint64_t kFirst = 300, kWidth = 116;
constexpr std::size_t kBackground = 200000, kIterations = 100;
constexpr std::size_t kTuningIterations = 8, kTuningRuns = 16;
constexpr std::size_t kRank = 16;

using Cell = std::array<std::uint64_t, 3>;

// A cube of kWidth cells a side, half of them filled, moves through a thin background.
class Drift {
 public:
  CooTensor whole() const {
    CooTensor tensor({kSide, kSide, kSide});
    for (std::uint64_t x = kFirst; x < kFirst + kWidth; ++x) add_plane(x, tensor);
    std::mt19937_64 random(1);
    std::set<Cell> cells;
    while (cells.size() < kBackground) {
      const Cell cell = {random() % kSide, random() % kSide, random() % kSide};
      const bool is_on_way = is_inside(cell[1]) && is_inside(cell[2]);
      if (!is_on_way && cells.insert(cell).second) tensor.append(cell, 0.5);
    }
    return tensor;
  }

  // The cube's last plane goes, and one comes before its first.
  void step(CooTensor& set, CooTensor& removed) {
    add_plane(at_, removed);
    add_plane(at_ + kWidth, set);
    ++at_;
  }

 private:
  static bool is_inside(std::uint64_t index) { return index >= kFirst && index < kFirst + kWidth; }

  static void add_plane(std::uint64_t x, CooTensor& to) {
    std::mt19937_64 random(x);
    for (std::uint64_t y = kFirst; y < kFirst + kWidth; ++y) {
      for (std::uint64_t z = kFirst; z < kFirst + kWidth; ++z) {
        if (random() % 2 == 0) to.append(Cell{x, y, z}, 0.5);
      }
    }
  }

  std::uint64_t at_ = kFirst;
};

struct Contender {
  std::string name;
  AdaptivePartition partition;
  bool adapts = false;
  std::vector<double> seconds;
  double total = 0;
  FactorMatrix<float> out{kSide, kRank};
};

bool agree(const FactorMatrix<float>& a, const FactorMatrix<float>& b) {
  double error = 0, size = 0;
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    error += std::pow(a.values[i] - b.values[i], 2);
    size += std::pow(b.values[i], 2);
  }
  return error < 1e-9 * size;
}

struct Race {
  ThreadPool pool;
  Drift drift;
  std::vector<Contender> contenders;  // the adaptive one is last
  std::vector<FactorMatrix<float>> factors{3, FactorMatrix<float>(kSide, kRank)};
  double build_seconds = 0, tuning_seconds = 0;

  explicit Race(int threads) : pool(threads) {
    std::mt19937 random(5);
    for (auto& factor : factors) {
      for (float& value : factor.values) value = static_cast<float>(random() % 1000) / 1000;
    }
    const CooTensor start = drift.whole();
    for (const int bits : {6, 9, 12}) {
      AdaptiveOptions options;
      options.grid_bits = bits;
      contenders.push_back(contender("static_" + std::to_string(1 << bits), start, options, false));
    }
    tuning_seconds = seconds(
        [&] { contenders.push_back(contender("tuned", start, tuned(start, threads), true)); });
    build_seconds = seconds(
        [&] { contenders.push_back(contender("adaptive", start, AdaptiveOptions(), true)); });
  }

  Contender contender(const std::string& name, const CooTensor& start,
                      const AdaptiveOptions& options, bool adapts) {
    return {name, AdaptivePartition(start, options, pool), adapts, {}, 0, {kSide, kRank}};
  }

  AdaptiveOptions tuned(const CooTensor& start, int threads) {
    return tuned_options(
        start, threads,
        {tuning_file(std::getenv("XDG_CACHE_HOME"), std::getenv("HOME")), kTuningRuns},
        [&](const AdaptiveOptions& options) {
          Drift moving;
          Contender trial = contender("trial", start, options, true);
          for (std::size_t i = 0; i < kTuningIterations; ++i) {
            CooTensor set({kSide, kSide, kSide}), removed({kSide, kSide, kSide});
            moving.step(set, removed);
            run(trial, set, removed, kIterations - i - 1);
          }
          return trial.total;
        });
  }

  void run(Contender& each, const CooTensor& set, const CooTensor& removed, std::size_t remaining) {
    const double time = seconds([&] {
      each.partition.change(set, removed, pool);
      for (std::size_t mode = 0; mode < 3; ++mode) {
        each.partition.mttkrp(factors, mode, each.out, pool);
      }
      if (each.adapts) each.partition.adapt(remaining, 3, pool);
    });
    each.seconds.push_back(time);
    each.total += time;
  }

  // False after a result that differs from the adaptive partition's.
  bool iterate(std::size_t remaining) {
    CooTensor set({kSide, kSide, kSide}), removed({kSide, kSide, kSide});
    drift.step(set, removed);
    for (Contender& each : contenders) run(each, set, removed, remaining);
    return std::ranges::all_of(
        contenders, [&](const Contender& each) { return agree(each.out, contenders.back().out); });
  }
};

bool run(int threads, const std::string& command) {
  Race race(threads);
  for (std::size_t iteration = 0; iteration < kIterations; ++iteration) {
    if (race.iterate(kIterations - iteration - 1)) continue;
    std::cerr << "results differ in iteration " << iteration << "\n";
    return false;
  }
  const Contender& adaptive = race.contenders.back();
  const Contender& tuned = race.contenders[race.contenders.size() - 2];
  const AdaptiveStats& stats = adaptive.partition.stats();
  nlohmann::ordered_json extra = {{"round_share", stats.round_seconds / adaptive.total},
                                  {"build_share", race.build_seconds / adaptive.total},
                                  {"rounds", stats.rounds},
                                  {"refusals", stats.refusals},
                                  {"blocks", adaptive.partition.blocks().size()},
                                  {"tuning_seconds", race.tuning_seconds},
                                  {"threads", threads}};
  for (const Contender& each : race.contenders) {
    extra["seconds_" + each.name] = each.total;
    if (each.adapts) continue;
    extra["times_" + each.name] = each.total / adaptive.total;
    extra["tuned_times_" + each.name] = each.total / tuned.total;
  }
  extra["command"] = command;
  std::vector<double> ms;
  for (const double s : adaptive.seconds) ms.push_back(s * 1e3);
  print_figure("adaptive_partition.drift", ms, "ms/iteration", extra);
  return true;
}

}  // namespace
}  // namespace tandem::bench

int main(int argc, char** argv) {
  return tandem::bench::run(argc > 1 ? std::atoi(argv[1]) : 2, argv[0]) ? 0 : 1;
}
