// SPDX-License-Identifier: Apache-2.0
//
// AdamW in host memory against the memory's bandwidth and torch.optim.AdamW.
//
//   bench_host_optimizer [--values N] [--threads N] [--python PYTHON]
//
// In turns: the bandwidth of reading and writing, a step, a step with a bf16 copy, and both of the
// peer in a child process. The bandwidth is the better of two plain loops over the same memory: all
// of it in place, and the step's own four reads and three writes. A step moves 28 bytes per
// parameter (weights, gradient and two moments read; all but the gradient written), 30 with the
// copy; the peer's copy reads the weights again: 34. Verifies a step against a scalar loop first. A
// JSON line per figure.
#include <CLI/CLI.hpp>
#include <bit>
#include <cmath>
#include <stdexcept>

#include "common/huge_pages.h"
#include "drivers/cpu/samples.h"
#include "peer_process.h"
#include "training/optimizer/optimizer.h"

namespace {

using namespace tandem;
using namespace tandem::bench;
using training::StepFactors;

constexpr std::size_t kPart = 1 << 15;
constexpr double kStepBytes = 28, kCopyBytes = 30, kPeerCopyBytes = 34;

struct Settings {
  std::size_t values = std::size_t{64} << 20;
  int threads = 0;
  std::string python = "python3";
  std::string script = TANDEM_OPTIMIZER_PEER;
};

template <typename T>
std::vector<T> fill(ThreadPool& pool, std::size_t count, float scale) {
  std::vector<T> values;
  values.reserve(count);
  advise_huge_pages(values.data(), count * sizeof(T));
  values.resize(count);
  pool.run(count / kPart, [&](std::size_t part) {
    for (std::size_t i = part * kPart; i < (part + 1) * kPart; ++i) {
      values[i] = static_cast<T>(scale * static_cast<float>(i * 2654435761u % 1024));
    }
  });
  return values;
}

class Contest {
 public:
  explicit Contest(const Settings& settings)
      : settings_(settings),
        pool_(settings.threads),
        optimizer_(pool_),
        weights_(fill<float>(pool_, settings.values, 1e-3f)),
        gradient_(fill<float>(pool_, settings.values, 1e-5f)),
        copy_(fill<std::uint16_t>(pool_, settings.values, 0)),
        parameter_(optimizer_.add({.name = "weights", .count = settings.values})) {
    verify();
  }

  int threads() const { return pool_.num_threads(); }

  double step(bool copy) {
    const StepFactors factors = {++iteration_, 1e-3, 1};
    training::RangeUpdate range = {
        .parameter = parameter_, .weights = weights_, .gradient = gradient_};
    if (copy) range.copy = copy_;
    return seconds([&] { optimizer_.update(factors, range); });
  }

  // Bytes per second, read and written together.
  double bandwidth() {
    const auto state = optimizer_.state();
    float* const arrays[] = {weights_.data(), state[0].values.data(), state[1].values.data(),
                             gradient_.data()};
    const double in_place = passes(8 * 4, [&](std::size_t begin) {
      for (float* array : arrays) invert(array + begin);
    });
    const double like_a_step = passes(kStepBytes, [&](std::size_t begin) {
      mix(arrays[3] + begin, arrays[0] + begin, arrays[1] + begin, arrays[2] + begin);
    });
    return std::max(in_place, like_a_step);
  }

 private:
  // Twice: the second pass restores every bit.
  template <typename Body>
  double passes(double bytes_per_value, const Body& body) {
    double best = 0;
    for (int pass = 0; pass < 2; ++pass) {
      const double time = seconds([&] {
        pool_.run(settings_.values / kPart, [&](std::size_t part) { body(part * kPart); });
      });
      best = std::max(best, bytes_per_value * static_cast<double>(settings_.values) / time);
    }
    return best;
  }

  static void invert(float* values) {
    auto* bits = reinterpret_cast<std::uint32_t*>(values);
    for (std::size_t i = 0; i < kPart; ++i) bits[i] = ~bits[i];
  }

  static void mix(const float* from, float* a, float* b, float* c) {
    const auto* mask = reinterpret_cast<const std::uint32_t*>(from);
    auto* x = reinterpret_cast<std::uint32_t*>(a);
    auto* y = reinterpret_cast<std::uint32_t*>(b);
    auto* z = reinterpret_cast<std::uint32_t*>(c);
#pragma GCC ivdep
    for (std::size_t i = 0; i < kPart; ++i) {
      x[i] ^= mask[i];
      y[i] ^= mask[i];
      z[i] ^= mask[i];
    }
  }

  void verify() {
    const std::vector<float> before(weights_.begin(), weights_.begin() + 1000);
    step(true);
    for (std::size_t i = 0; i < before.size(); ++i) {
      const double g = gradient_[i];
      const double expected = before[i] * (1 - 1e-5) - 1e-3 * g / (std::fabs(g) + 1e-8);
      if (std::fabs(weights_[i] - expected) > 1e-6 * (1 + std::fabs(expected))) {
        throw std::runtime_error("the step is wrong at value " + std::to_string(i));
      }
      if (std::fabs(std::bit_cast<float>(std::uint32_t{copy_[i]} << 16) - weights_[i]) >
          std::fabs(weights_[i]) / 128) {
        throw std::runtime_error("the copy is wrong at value " + std::to_string(i));
      }
    }
  }

  const Settings settings_;
  ThreadPool pool_;
  training::Optimizer optimizer_;
  std::vector<float> weights_, gradient_;
  std::vector<std::uint16_t> copy_;
  std::uint32_t parameter_;
  std::uint64_t iteration_ = 0;
};

struct Samples {
  std::vector<double> ns, share, against_peer;
};

void print(const std::string& name, const Samples& samples, double bytes,
           const std::vector<double>& bandwidths, nlohmann::ordered_json more) {
  nlohmann::ordered_json extra = {{"bytes_per_parameter", bytes},
                                  {"of_bandwidth", quantile(samples.share, 0.5)},
                                  {"of_bandwidth_p10", quantile(samples.share, 0.1)},
                                  {"of_bandwidth_p90", quantile(samples.share, 0.9)},
                                  {"bandwidth_gb_per_s", quantile(bandwidths, 0.5) * 1e-9}};
  if (!samples.against_peer.empty()) {
    extra["times_the_peer"] = quantile(samples.against_peer, 0.5);
    extra["times_the_peer_p10"] = quantile(samples.against_peer, 0.1);
    extra["times_the_peer_p90"] = quantile(samples.against_peer, 0.9);
  }
  extra.update(more);
  print_figure(name, samples.ns, "ns/parameter", extra);
}

void run(const Settings& settings) {
  Contest contest(settings);
  PeerProcess peer(settings.python, settings.script, settings.values, contest.threads());
  const auto count = static_cast<double>(settings.values);
  Samples plain, with_copy, peers, peers_with_copy;
  std::vector<double> bandwidths;
  for (int sample = -3; sample < kSamples; ++sample) {
    const double bandwidth = contest.bandwidth();
    const double alone = contest.step(false), copied = contest.step(true);
    const std::optional<PeerProcess::Seconds> other = peer.step();
    if (sample < 0) continue;
    bandwidths.push_back(bandwidth);
    const auto add = [&](Samples& to, double time, double bytes, double peers_time) {
      to.ns.push_back(time / count * 1e9);
      to.share.push_back(bytes * count / time / bandwidth);
      if (other) to.against_peer.push_back(peers_time / time);
    };
    const PeerProcess::Seconds theirs = other.value_or(PeerProcess::Seconds{});
    add(plain, alone, kStepBytes, theirs.step);
    add(with_copy, copied, kCopyBytes, theirs.step_and_copy);
    if (!other) continue;
    add(peers, theirs.step, kStepBytes, theirs.step);
    add(peers_with_copy, theirs.step_and_copy, kPeerCopyBytes, theirs.step_and_copy);
  }
  const nlohmann::ordered_json shape = {{"values", settings.values},
                                        {"threads", contest.threads()}};
  print("optimizer.adamw", plain, kStepBytes, bandwidths, shape);
  print("optimizer.adamw_bf16_copy", with_copy, kCopyBytes, bandwidths, shape);
  if (peers.ns.empty()) {
    std::cout << nlohmann::json{{"name", "optimizer.peer"}, {"peer", peer.description()}} << '\n';
  } else {
    const nlohmann::ordered_json description = {{"peer", peer.description()}};
    print("optimizer.peer", peers, kStepBytes, bandwidths, description);
    print("optimizer.peer_bf16_copy", peers_with_copy, kPeerCopyBytes, bandwidths, description);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  CLI::App app("AdamW in host memory against its bandwidth and PyTorch's");
  app.add_option("--values", settings.values, "parameters, a multiple of 32768");
  app.add_option("--threads", settings.threads, "0: one per physical core");
  app.add_option("--python", settings.python, "with PyTorch, for the peer; \"\": no peer");
  CLI11_PARSE(app, argc, argv);
  try {
    if (settings.values == 0 || settings.values % kPart != 0) {
      throw std::runtime_error("--values must be a multiple of 32768");
    }
    run(settings);
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    return 1;
  }
  return 0;
}
