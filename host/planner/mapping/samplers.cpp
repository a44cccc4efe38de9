// SPDX-License-Identifier: Apache-2.0
//
// The temperatures of all samplers follow from the sizes of sampled moves.
#include "planner/mapping/samplers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "common/error.h"
#include "planner/mapping/mapping_bits.h"

namespace tandem::planner {
namespace {

constexpr std::int64_t kFirstSweeps = 64;
constexpr std::int64_t kMostSweeps = 4096;
constexpr int kTemperatures = 8;
constexpr int kCopies = 16;

class SampleRun {
 public:
  SampleRun(const Qubo& qubo, const SearchOptions& options)
      : qubo_(qubo),
        n_(static_cast<int>(std::lround(std::sqrt(qubo.num_bits)))),
        random_(options.seed),
        stop_(options.deadline, options.most_steps, 1) {  // a step is a sweep over all pairs
    best_.places = random_permutation(n_, random_);
    best_.energy = qubo.energy(bits_of(best_.places));
    sample_sizes();
  }

  SampledMapping run(Sampler sampler) {
    if (n_ < 2) return best_;
    for (std::int64_t sweeps = kFirstSweeps; !stop_.was_reached();
         sweeps = std::min(2 * sweeps, kMostSweeps)) {
      switch (sampler) {
        case Sampler::kAnnealing:
          anneal(sweeps);
          break;
        case Sampler::kTempering:
          temper(sweeps);
          break;
        case Sampler::kQuantum:
          anneal_quantum(sweeps);
          break;
        case Sampler::kTabu:
          walk_tabu(sweeps);
          break;
      }
    }
    return best_;
  }

 private:
  // The highest temperature is a typical energy change of a move, the lowest a tenth of the
  // smallest.
  void sample_sizes() {
    if (n_ < 2) return;
    const MappingBits bits(qubo_, best_.places);
    double sum = 0, least = std::numeric_limits<double>::infinity();
    for (int i = 0; i < n_; ++i) {
      for (int j = i + 1; j < n_; ++j) {
        const double size = std::abs(bits.delta(i, j));
        sum += size;
        if (size > 0) least = std::min(least, size);
      }
    }
    if (sum <= 0) return;
    hot_ = sum / (n_ * (n_ - 1) / 2.0);
    cold_ = std::min(hot_, least) / 10;
  }

  // Between hot (0) and cold (1).
  double temperature_at(double share) const { return hot_ * std::pow(cold_ / hot_, share); }

  bool accepts(double delta, double temperature) {
    return delta <= 0 || uniform_(random_) < std::exp(-delta / temperature);
  }

  void keep(const MappingBits& bits) {
    if (bits.energy() < best_.energy) best_ = {bits.places(), bits.energy()};
  }

  // `extra`(task, other): the cost of an exchange in addition to its energy.
  template <typename Extra>
  void sweep(MappingBits& bits, double temperature, const Extra& extra) {
    for (int i = 0; i < n_; ++i) {
      for (int j = i + 1; j < n_; ++j) {
        if (!accepts(bits.delta(i, j) + extra(i, j), temperature)) continue;
        bits.swap(i, j);
        keep(bits);
      }
    }
  }

  static double no_extra(int, int) { return 0; }

  void anneal(std::int64_t sweeps) {
    MappingBits bits(qubo_, random_permutation(n_, random_));
    for (std::int64_t at = 0; at < sweeps && !stop_.is_reached(); ++at) {
      sweep(bits, temperature_at(static_cast<double>(at) / static_cast<double>(sweeps - 1)),
            no_extra);
    }
  }

  void temper(std::int64_t sweeps) {
    std::vector<MappingBits> walks;  // from hot to cold
    for (int i = 0; i < kTemperatures; ++i) {
      walks.emplace_back(qubo_, random_permutation(n_, random_));
    }
    const auto temperature = [&](int walk) { return temperature_at(walk / (kTemperatures - 1.0)); };
    for (std::int64_t at = 0; at < sweeps && !stop_.is_reached(); ++at) {
      for (int i = 0; i < kTemperatures; ++i) {
        sweep(walks[static_cast<std::size_t>(i)], temperature(i), no_extra);
      }
      for (int i = 0; i + 1 < kTemperatures; ++i) {
        MappingBits &hot = walks[static_cast<std::size_t>(i)],
                    &cold = walks[static_cast<std::size_t>(i) + 1];
        const double gain =
            (1 / temperature(i + 1) - 1 / temperature(i)) * (hot.energy() - cold.energy());
        if (accepts(gain, 1)) std::swap(hot, cold);
      }
    }
  }

  // Bits that agree with the same bit of the two neighbouring copies, over the four of an exchange:
  // the change, counted in spins.
  static double agreement_change(const MappingBits& bits, const MappingBits& neighbour, int task,
                                 int other) {
    const int p = bits.place_of(task), q = bits.place_of(other);
    const auto spin = [&](int t, int place) { return neighbour.place_of(t) == place ? 1 : -1; };
    return 2.0 * (spin(task, q) + spin(other, p) - spin(task, p) - spin(other, q));
  }

  void anneal_quantum(std::int64_t sweeps) {
    const double temperature = std::max(cold_, hot_ / kCopies);
    std::vector<MappingBits> copies;
    const Permutation start = random_permutation(n_, random_);
    for (int i = 0; i < kCopies; ++i) copies.emplace_back(qubo_, start);
    for (std::int64_t at = 0; at < sweeps && !stop_.is_reached(); ++at) {
      const double left = 1 - static_cast<double>(at) / static_cast<double>(sweeps);
      const double field = hot_ * left;
      const double attraction = -temperature / 2 * std::log(std::tanh(field / temperature));
      for (std::size_t i = 0; i < copies.size(); ++i) {
        const MappingBits &before = copies[(i + kCopies - 1) % kCopies],
                          &after = copies[(i + 1) % kCopies];
        sweep(copies[i], temperature, [&](int task, int other) {
          return -attraction * (agreement_change(copies[i], before, task, other) +
                                agreement_change(copies[i], after, task, other));
        });
      }
    }
  }

  void walk_tabu(std::int64_t sweeps) {
    MappingBits bits(qubo_, random_permutation(n_, random_));
    std::vector<std::int64_t> until(static_cast<std::size_t>(qubo_.num_bits), -1);
    const auto ban = [&](int task, int place) -> std::int64_t& {
      return until[static_cast<std::size_t>(task * n_ + place)];
    };
    for (std::int64_t step = 0; step < sweeps * n_ && !stop_.is_reached(); ++step) {
      std::pair<int, int> best{-1, -1};
      double best_delta = std::numeric_limits<double>::infinity();
      for (int i = 0; i < n_; ++i) {
        for (int j = i + 1; j < n_; ++j) {
          const double delta = bits.delta(i, j);
          const bool is_banned =
              ban(i, bits.place_of(j)) >= step && ban(j, bits.place_of(i)) >= step;
          if (delta >= best_delta || (is_banned && bits.energy() + delta >= best_.energy)) continue;
          best = {i, j};
          best_delta = delta;
        }
      }
      if (best.first < 0) continue;
      for (const int task : {best.first, best.second}) {
        ban(task, bits.place_of(task)) =
            step + n_ / 2 + static_cast<std::int64_t>(uniform_(random_) * n_);
      }
      bits.swap(best.first, best.second);
      keep(bits);
    }
  }

  const Qubo& qubo_;
  int n_;
  std::mt19937_64 random_;
  std::uniform_real_distribution<double> uniform_{0, 1};
  SearchStop stop_;
  SampledMapping best_;
  double hot_ = 1, cold_ = 0.1;
};

}  // namespace

Sampler sampler_of(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, Sampler>, 4> kNames = {
      {{"annealing", Sampler::kAnnealing},
       {"tempering", Sampler::kTempering},
       {"quantum", Sampler::kQuantum},
       {"tabu", Sampler::kTabu}}};
  for (const auto& [known, sampler] : kNames) {
    if (name == known) return sampler;
  }
  throw Error("qubo", "no sampler is called '" + std::string(name) +
                          "': annealing, tempering, quantum or tabu");
}

SampledMapping sample_mapping(const Qubo& qubo, Sampler sampler, const SearchOptions& options) {
  return SampleRun(qubo, options).run(sampler);
}

}  // namespace tandem::planner
