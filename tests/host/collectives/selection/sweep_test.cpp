// SPDX-License-Identifier: Apache-2.0
//
// Over a sweep of problems the selector's choice, made from profiles and probed links alone, is
// within 10 % of the scheme that measures best on the simulated network (virtual time).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "collectives/scheme/scheme.h"
#include "collectives/selection/selector.h"
#include "tensor/sparse/generate/synthetic.h"
#include "transport/simulated/simulated.h"

namespace tandem::collectives {
namespace {

struct Setting {
  int world;
  double density;
  double overlap;  // negative: independent
  double skew;     // over `world` ranges; 1: none
  double latency_s;
  double gbit_per_s;
};

transport::simulated::NetworkOptions network_of(const Setting& setting) {
  transport::simulated::NetworkOptions network;
  network.world = setting.world;
  network.latency_s = setting.latency_s;
  network.bandwidth_bytes_per_s = setting.gbit_per_s / 8 * 1e9;
  return network;
}

std::vector<SparseVector> inputs_of(const Setting& setting) {
  sparse::SyntheticOptions options;
  options.domain = {1 << 18, 1};
  options.density = setting.density;
  options.overlap = setting.overlap;
  if (setting.skew > 1) sparse::set_skew(options, setting.skew, setting.world);
  std::vector<SparseVector> inputs;
  for (int rank = 0; rank < setting.world; ++rank) {
    inputs.push_back(sparse::synthetic_gradient(options, rank, setting.world, 17));
  }
  return inputs;
}

double measure(const Scheme& scheme, const Setting& setting, std::vector<SparseVector> inputs) {
  std::vector<double> seconds(inputs.size());
  transport::simulated::run_ranks(network_of(setting), [&](Transport& transport) {
    Communicator ranks(transport, 1, Deadline::after(std::chrono::seconds(100)));
    SchemeMemory memory;
    const auto aggregator = make_cpu_aggregator();
    const auto rank = static_cast<std::size_t>(transport.rank());
    scheme.allreduce(ranks, std::move(inputs[rank]), {}, memory, *aggregator);
    seconds[rank] = transport::simulated::now(transport);
  });
  return *std::max_element(seconds.begin(), seconds.end());
}

// What a group's first call does, on the simulated network.
Selector choose(const Setting& setting, const std::vector<SparseVector>& inputs) {
  Selector selector;
  std::vector<ByteBuffer> headers;
  for (const SparseVector& input : inputs)
    headers.push_back(Selector().header(input, setting.world));
  MachineModel machine;
  transport::simulated::run_ranks(network_of(setting), [&](Transport& transport) {
    Communicator ranks(transport, 1, Deadline::after(std::chrono::seconds(100)));
    const LinkModel link =
        probe_links(ranks, {}, [&] { return transport::simulated::now(transport); });
    if (transport.rank() == 0) machine = {link, {0, 0, 0}};
  });
  Problem problem;
  problem.world = setting.world;
  problem.domain = inputs.front().domain();
  selector.choose(headers, problem, machine);
  return selector;
}

void check(const Setting& setting) {
  const auto inputs = inputs_of(setting);
  const Selector selector = choose(setting, inputs);
  double chosen = 0, best = 0;
  std::string text, best_name;
  for (const Candidate& candidate : selector.ranking()) {
    if (!candidate.refusal.empty()) continue;
    const double seconds = measure(*candidate.scheme, setting, inputs);
    if (chosen == 0) chosen = seconds;
    if (best == 0 || seconds < best) {
      best = seconds;
      best_name = candidate.scheme->name();
    }
    char line[160];
    std::snprintf(line, sizeof(line), "  %-28s predicted %9.4f ms, measured %9.4f ms\n",
                  std::string(candidate.scheme->name()).c_str(), candidate.cost.seconds * 1e3,
                  seconds * 1e3);
    text += line;
  }
  EXPECT_LE(chosen, 1.1 * best) << setting.world << " ranks, density " << setting.density
                                << ", overlap " << setting.overlap << ", skew " << setting.skew
                                << ", " << setting.latency_s * 1e6 << " us, " << setting.gbit_per_s
                                << " Gb/s: best is " << best_name << "\n"
                                << text;
}

constexpr double kDensities[] = {0.0001, 0.001, 0.01, 0.05, 0.2};

TEST(SelectionSweep, IndependentSupports) {
  for (const int world : {4, 7, 16, 32}) {
    for (const double density : kDensities) check({world, density, -1, 1, 20e-6, 10});
  }
}

TEST(SelectionSweep, Networks) {
  for (const double density : kDensities) {
    check({8, density, -1, 1, 1e-6, 100});
    check({8, density, -1, 1, 5e-6, 1});
    check({8, density, -1, 1, 500e-6, 10});
    check({12, density, -1, 1, 100e-6, 1});
  }
}

TEST(SelectionSweep, OverlappingSupports) {
  for (const int world : {4, 8, 16}) {
    for (const double density : kDensities) {
      check({world, density, 0.5, 1, 20e-6, 10});
      check({world, density, 0.95, 1, 20e-6, 25});
    }
    check({world, 0.001, 0, 1, 20e-6, 10});
    check({world, 0.02, 0, 1, 20e-6, 10});
  }
}

TEST(SelectionSweep, SkewedSupports) {
  for (const int world : {4, 8, 16}) {
    for (const double density : {0.0001, 0.001, 0.01, 0.05}) {
      check({world, density, -1, 0.6 * world, 20e-6, 10});
      check({world, density, 0.7, 0.6 * world, 20e-6, 1});
    }
  }
}

}  // namespace
}  // namespace tandem::collectives
