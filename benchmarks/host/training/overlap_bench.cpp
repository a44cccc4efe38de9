// SPDX-License-Identifier: Apache-2.0
//
// How much of the reducer's communication a backward pass hides.
//
//   scripts/netlab.sh --hosts 2 --rate 100mbit --launcher gloo -- bench_training_overlap
//       --rank {rank} --world {world} --address {address} --store {store}
//
// Three steps in turns: communication alone; backward alone, which spins without sleeping (or
// sleeps, as the host of a GPU does); both. Backward takes `--ratio` times the communication, in
// equal parts per layer. Exposed = both - backward. hidden_share = 1 - exposed / communication. The
// last bucket's call begins when backward ends, so the share cannot be 1. Rank 0 prints a JSON
// line.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "training/reducer/gradient_buckets.h"
#include "transport/gloo/gloo.h"

namespace {

using namespace tandem;
using Clock = std::chrono::steady_clock;

struct Settings {
  int rank = 0, world = 2, layers = 24, steps = 30;
  std::int64_t width = 256;  // a layer is width x width
  std::string address, store, sparsifier = "dense";
  double density = 0.01, ratio = 1.5;
  std::uint64_t bucket_bytes = 1 << 20;
  bool sleep = false;
};

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double quantile(std::vector<double> values, double at) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(at * static_cast<double>(values.size() - 1) + 0.5)];
}

class Model {
 public:
  Model(training::Reducer& reducer, const Settings& settings)
      : settings_(settings), buckets_(reducer, settings.bucket_bytes, shapes(settings)) {
    const auto count = static_cast<std::size_t>(settings.width * settings.width);
    gradients_.assign(static_cast<std::size_t>(settings.layers), std::vector<float>(count));
  }

  // One step; backward takes `backward` seconds in all. Returns its time.
  double step(double backward, bool communicate) {
    for (auto& gradient : gradients_) fill(gradient);
    const auto begin = Clock::now();
    for (int layer = settings_.layers - 1; layer >= 0; --layer) {
      const double share = static_cast<double>(settings_.layers - layer) / settings_.layers;
      compute_until(begin, backward * share);
      const auto at = static_cast<std::size_t>(layer);
      if (communicate) buckets_.ready(at, gradients_[at]);
    }
    if (communicate) buckets_.finish(Deadline::never());
    const double seconds = seconds_since(begin);
    if (communicate && settings_.sparsifier == "dense") check();
    return seconds;
  }

 private:
  static std::vector<training::GradientBuckets::NamedShape> shapes(const Settings& settings) {
    std::vector<training::GradientBuckets::NamedShape> list;
    for (int layer = 0; layer < settings.layers; ++layer) {
      list.push_back({"layer." + std::to_string(layer), {settings.width, settings.width}});
    }
    return list;
  }

  void fill(std::vector<float>& gradient) const {
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      gradient[i] = static_cast<float>((i * 2654435761u % 1024) * (settings_.rank + 1));
    }
  }

  void check() const {
    const double mean = 0.5 * (settings_.world + 1);
    for (const auto& gradient : gradients_) {
      for (std::size_t i = 0; i < gradient.size(); i += 97) {
        const double expected = static_cast<double>(i * 2654435761u % 1024) * mean;
        if (std::fabs(gradient[i] - expected) > 1e-3 * (1 + expected)) {
          throw Error("bench", "the mean is wrong");
        }
      }
    }
  }

  void compute_until(Clock::time_point begin, double seconds) const {
    if (settings_.sleep) {
      const double left = seconds - seconds_since(begin);
      if (left > 0) std::this_thread::sleep_for(std::chrono::duration<double>(left));
      return;
    }
    while (seconds_since(begin) < seconds) {
    }
  }

  const Settings settings_;
  training::GradientBuckets buckets_;
  std::vector<std::vector<float>> gradients_;
};

// Rank 0's, so that all ranks have equal backward passes.
double agree(training::Reducer& reducer, double seconds) {
  std::vector<std::uint32_t> microseconds = {static_cast<std::uint32_t>(seconds * 1e6)};
  reducer.wait(reducer.broadcast(microseconds, 0), Deadline::never());
  return microseconds[0] * 1e-6;
}

struct Times {
  std::vector<double> alone, both, shares;
  double backward = 0;
};

// Communication alone, backward alone, both: in turns.
Times measure(training::Reducer& reducer, Model& model, const Settings& settings) {
  Times times;
  std::vector<double> first;
  for (int i = 0; i < 5; ++i) first.push_back(model.step(0, true));
  const double backward = settings.ratio * agree(reducer, quantile(first, 0.5));
  for (int i = 0; i < settings.steps; ++i) {
    times.alone.push_back(model.step(0, true));
    const double computed = model.step(backward, false);
    times.both.push_back(model.step(backward, true));
    times.backward += computed / settings.steps;
    times.shares.push_back(1 - std::max(0.0, times.both.back() - computed) / times.alone.back());
  }
  return times;
}

void print(const Times& times, const training::ReducerStatistics& statistics,
           const Settings& settings) {
  const nlohmann::ordered_json line = {
      {"name", "reducer_overlap"},
      {"sparsifier", settings.sparsifier},
      {"density", settings.sparsifier == "dense" ? 1 : settings.density},
      {"world", settings.world},
      {"values", settings.layers * settings.width * settings.width},
      {"buckets", statistics.buckets.size()},
      {"backward", settings.sleep ? "sleeps" : "spins"},
      {"steps", settings.steps},
      {"hidden_share", quantile(times.shares, 0.5)},
      {"p10", quantile(times.shares, 0.1)},
      {"p90", quantile(times.shares, 0.9)},
      {"communication_s", quantile(times.alone, 0.5)},
      {"backward_s", times.backward},
      {"step_s", quantile(times.both, 0.5)},
      {"bytes_sent_per_step", statistics.bytes_sent / statistics.steps}};
  std::cout << line.dump() << std::endl;
}

void run(const Settings& settings) {
  transport::gloo::Options gloo;
  gloo.rank = settings.rank;
  gloo.world = settings.world;
  gloo.address = settings.address;
  gloo.store_directory = settings.store;
  collectives::Group group(transport::gloo::connect(gloo));
  training::ReducerOptions options;
  options.sparsifier = settings.sparsifier;
  options.density = settings.density;
  options.dense_below = 0;
  training::Reducer reducer(group, options);
  Model model(reducer, settings);
  const Times times = measure(reducer, model, settings);
  if (settings.rank == 0) print(times, reducer.statistics(), settings);
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  CLI::App app("How much of the reducer's communication a backward pass hides");
  app.add_option("--rank", settings.rank)->required();
  app.add_option("--world", settings.world)->required();
  app.add_option("--address", settings.address)->required();
  app.add_option("--store", settings.store)->required();
  app.add_option("--sparsifier", settings.sparsifier, "dense, or a sparsifier");
  app.add_option("--density", settings.density);
  app.add_option("--layers", settings.layers);
  app.add_option("--width", settings.width, "a layer has width x width values");
  app.add_option("--bucket-bytes", settings.bucket_bytes);
  app.add_option("--ratio", settings.ratio, "backward over communication");
  app.add_option("--steps", settings.steps);
  app.add_flag("--sleep", settings.sleep, "backward sleeps, as the host of a GPU does");
  CLI11_PARSE(app, argc, argv);
  try {
    run(settings);
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    return 1;
  }
  return 0;
}
