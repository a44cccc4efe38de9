// SPDX-License-Identifier: Apache-2.0
//
// Every scheme against the dense all-reduces of MPI and gloo on one network: run under mpirun, by
// scripts/netlab.sh for links of a known rate.
//
// Contestants take turns: one sample each per round, after a barrier. A sample is the slowest
// rank's time. Every result is verified against MPI's (exact: the values are multiples of 1/256).
// Further figures: own work (time outside the transport, mean over ranks), processor time (mean
// over ranks) and the busiest rank's bytes. Rank 0 prints one JSON line per contestant.
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <map>

#include "collectives/scheme/scheme.h"
#include "drivers/cpu/samples.h"
#include "host/collectives/peer_allreduce.h"
#include "host/collectives/timed_transport.h"
#include "tensor/sparse/generate/synthetic.h"
#include "tensor/sparse/generate/tokens.h"
#include "tensor/sparse/partition.h"
#include "transport/gloo/gloo.h"
#include "transport/mpi/mpi.h"

namespace tandem::bench {
namespace {

using collectives::Aggregator;
using collectives::Communicator;
using collectives::Reduced;
using collectives::Scheme;
using collectives::SchemeMemory;
using collectives::SchemeSettings;
using sparse::DenseVector;
using sparse::Partition;
using sparse::SparseVector;
using transport::Transport;

struct Settings {
  std::uint64_t elements = 50'000'000;
  double density = 0.01;
  bool skewed = true;
  double zipf_exponent = 0;
  std::string corpus;
  std::size_t tokens = 8192;
  std::uint32_t width = 1;
  std::vector<std::string> schemes;
  bool has_peers = true;
  int samples = 30;
  double slow_s = 1.5;
  int slow_samples = 30;
  int warmups = 2;
  double time_limit_s = 1e9;
  std::string transport = "mpi";
  std::string interface = "eth0";
};

SparseVector make_input(const Settings& settings, int rank, int world) {
  if (!settings.corpus.empty()) {
    return sparse::TokenCorpus(settings.corpus)
        .embedding_gradient(settings.width, settings.tokens, rank, world, 0,
                            settings.elements / settings.width);
  }
  sparse::SyntheticOptions options;
  options.domain = {settings.elements / settings.width, settings.width};
  options.density = settings.density;
  options.zipf_exponent = settings.zipf_exponent;
  if (settings.skewed && settings.zipf_exponent == 0) sparse::set_first_eighth_skew(options);
  return sparse::synthetic_gradient(options, rank, world, 5);
}

double processor_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

void scatter(const SparseVector& sparse, std::span<float> to) {
  std::fill(to.begin(), to.end(), 0.0f);
  const std::size_t width = sparse.domain().width;
  const auto values = sparse.values<float>();
  for (std::size_t at = 0; at < sparse.num_entries(); ++at) {
    std::copy_n(&values[at * width], width, &to[sparse.indices<std::uint32_t>()[at] * width]);
  }
}

struct Contestant {
  std::string name;
  int samples = 0;
  std::function<void()> prepare;
  std::function<void()> run;
  std::vector<double> seconds, own_seconds, processor_seconds;
  double bytes_sent = 0;
  double bytes_received = 0;
};

class Race {
 public:
  Race(const Settings& settings, Transport& transport)
      : settings_(settings),
        transport_(transport),
        input_(make_input(settings, transport.rank(), transport.world())),
        dense_(input_.domain().num_units * input_.domain().width),
        mpi_(mpi_allreduce()),
        aggregator_(collectives::make_cpu_aggregator()) {}

  void run() {
    make_expected();
    print_input();
    add_peers();
    add_schemes();
    for (Contestant& each : contestants_) {
      for (int i = 0; i < settings_.warmups; ++i) sample(each);
      const bool slow = !each.seconds.empty() && each.seconds.back() > settings_.slow_s;
      if (slow) each.samples = std::min(each.samples, settings_.slow_samples);
      each.seconds.clear();
      each.own_seconds.clear();
      each.processor_seconds.clear();
    }
    const auto start = std::chrono::steady_clock::now();
    for (int round = 0; round < settings_.samples; ++round) {
      for (Contestant& each : contestants_) {
        if (round < each.samples) sample(each);
      }
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
      if (largest_of_all(spent.count()) > settings_.time_limit_s) break;
    }
    for (const Contestant& each : contestants_) print(each);
  }

 private:
  void make_expected() {
    expected_.resize(dense_.size());
    scatter(input_, expected_);
    mpi_->sum(expected_);
  }

  void add_peers() {
    if (!settings_.has_peers) return;
    add_peer(*mpi_);
    gloo_ = gloo_allreduce(settings_.interface);
    if (gloo_) add_peer(*gloo_);
  }

  void add_peer(PeerAllreduce& peer) {
    Contestant contestant;
    contestant.name = peer.name();
    contestant.samples = settings_.samples;
    contestant.prepare = [this] { scatter(input_, dense_); };
    contestant.run = [this, &peer] { peer.sum(dense_); };
    contestant.run();
    contestant.prepare();
    contestant.run();
    require(dense_ == expected_, contestant.name);
    contestants_.push_back(std::move(contestant));
  }

  void add_schemes() {
    for (const Scheme* scheme : collectives::all_schemes()) {
      const auto& wanted = settings_.schemes;
      if (!wanted.empty() &&
          std::find(wanted.begin(), wanted.end(), scheme->name()) == wanted.end())
        continue;
      Contestant contestant;
      contestant.name = scheme->name();
      contestant.samples = settings_.samples;
      contestant.prepare = [this] { own_ = input_; };
      contestant.run = [this, scheme] {
        Communicator ranks(transport_, call_++, Deadline::after(std::chrono::minutes(2)));
        result_ = scheme->allreduce(ranks, std::move(own_), {},
                                    memory_[std::string(scheme->name())], *aggregator_);
      };
      contestant.prepare();
      contestant.run();
      // All schemes sum everything, except Ok-Topk and 16-bit forms.
      if (const auto* sparse = std::get_if<SparseVector>(&result_)) {
        scatter(*sparse, dense_);
      } else {
        const auto values = std::get<DenseVector>(result_).values<float>();
        std::copy(values.begin(), values.end(), dense_.begin());
      }
      require(dense_ == expected_, contestant.name);
      contestants_.push_back(std::move(contestant));
    }
  }

  void require(bool equal, const std::string& name) const {
    if (largest_of_all(equal ? 0 : 1) != 0) {
      throw Error("benchmark", name + " differs from MPI_Allreduce");
    }
  }

  void sample(Contestant& contestant) {
    contestant.prepare();
    const auto before = transport_.traffic();
    const double inside = transport_.seconds_inside();
    const double processor = processor_seconds();
    wait_for_all();
    const double wall = seconds(contestant.run);
    const auto sent = transport_.traffic() - before;
    const bool ours = sent.steps > 0;
    contestant.seconds.push_back(largest_of_all(wall));
    contestant.own_seconds.push_back(
        ours ? mean_of_all(wall - (transport_.seconds_inside() - inside)) : 0);
    contestant.processor_seconds.push_back(mean_of_all(processor_seconds() - processor));
    contestant.bytes_sent = largest_of_all(static_cast<double>(sent.bytes_sent()));
    contestant.bytes_received = largest_of_all(static_cast<double>(sent.bytes_received()));
  }

  // Push: most over ranks and owners of n x a rank's entries there / its entries. Pull: likewise of
  // the union.
  nlohmann::ordered_json imbalance(const Partition& partition) const {
    const int world = transport_.world();
    const auto worst = [&](const std::vector<double>& of_owner) {
      double most = 0, all = 0;
      for (const double each : of_owner) {
        most = std::max(most, each);
        all += each;
      }
      return all > 0 ? most * world / all : 1;
    };
    std::vector<double> push(static_cast<std::size_t>(world)), pull(push);
    for (const std::uint32_t unit : input_.indices<std::uint32_t>()) {
      ++push[static_cast<std::size_t>(partition.owner(unit))];
    }
    const std::size_t width = input_.domain().width;
    for (std::size_t unit = 0; unit < input_.domain().num_units; ++unit) {
      const auto* values = &expected_[unit * width];
      if (std::any_of(values, values + width, [](float value) { return value != 0; })) {
        ++pull[static_cast<std::size_t>(partition.owner(unit))];
      }
    }
    return {{"push", largest_of_all(worst(push))}, {"pull", worst(pull)}};
  }

  void print_input() const {
    const auto units = input_.domain().num_units;
    const int world = transport_.world();
    std::size_t present = 0;
    for (const float value : expected_) present += value != 0 ? 1 : 0;
    const double entries = mean_of_all(static_cast<double>(input_.num_entries()));
    const auto hashed = imbalance(Partition::hashed(units, world, SchemeSettings().seed));
    const auto even = imbalance(Partition::even(units, world));
    if (transport_.rank() != 0) return;
    nlohmann::ordered_json line = {
        {"name", "collectives_network/input"},
        {"world", world},
        {"elements", dense_.size()},
        {"width", input_.domain().width},
        {"density", entries / static_cast<double>(units)},
        {"union_density", static_cast<double>(present) / static_cast<double>(dense_.size())},
        {"hashed_imbalance", hashed},
        {"even_imbalance", even}};
    std::cout << line.dump() << std::endl;
  }

  void print(const Contestant& each) const {
    if (transport_.rank() != 0) return;
    nlohmann::ordered_json extra = {{"processor_s", quantile(each.processor_seconds, 0.5)}};
    if (each.bytes_sent > 0) {
      extra["own_work_s"] = quantile(each.own_seconds, 0.5);
      extra["bytes_sent"] = each.bytes_sent;
      extra["bytes_received"] = each.bytes_received;
    }
    print_figure("collectives_network/" + each.name, each.seconds, "s", extra);
  }

  const Settings& settings_;
  TimedTransport transport_;
  SparseVector input_;
  std::vector<float> dense_, expected_;  // [elements]
  std::unique_ptr<PeerAllreduce> mpi_, gloo_;
  std::unique_ptr<Aggregator> aggregator_;
  std::map<std::string, SchemeMemory> memory_;
  SparseVector own_;
  Reduced result_;
  std::uint32_t call_ = 1;
  std::vector<Contestant> contestants_;
};

void add_options(CLI::App& app, Settings& settings) {
  app.add_option("--elements", settings.elements, "values of the tensor");
  app.add_option("--density", settings.density, "share of them that a rank has");
  app.add_flag("--skewed,!--even", settings.skewed, "60 % of a rank's entries in the first eighth");
  app.add_option("--zipf", settings.zipf_exponent, "instead: supports by a Zipf law");
  app.add_option("--corpus", settings.corpus, "instead: embedding gradients of this text");
  app.add_option("--tokens", settings.tokens, "of a rank's batch, with --corpus");
  app.add_option("--width", settings.width, "values of a row");
  app.add_option("--schemes", settings.schemes, "those to run (all)")->delimiter(',');
  app.add_flag("--peers,!--no-peers", settings.has_peers, "MPI's and gloo's dense all-reduces");
  app.add_option("--samples", settings.samples, "of each contestant");
  app.add_option("--slow-samples", settings.slow_samples,
                 "of those whose warm-up took longer than");
  app.add_option("--slow-seconds", settings.slow_s, "this");
  app.add_option("--warmups", settings.warmups, "calls before the samples");
  app.add_option("--time-limit", settings.time_limit_s, "no new round after so many seconds");
  app.add_option("--transport", settings.transport, "of the schemes: mpi or gloo")
      ->check(CLI::IsMember({"mpi", "gloo"}));
  app.add_option("--interface", settings.interface, "what gloo listens on");
}

std::unique_ptr<Transport> connect(const Settings& settings,
                                   transport::mpi::Environment& environment) {
  if (settings.transport == "mpi") return transport::mpi::connect(environment);
  transport::gloo::Options options;
  options.rank = environment.rank();
  options.world = environment.world();
  options.store_directory = folder_of_all();
  options.interface = settings.interface;
  auto transport = transport::gloo::connect(options);
  remove_folder_of_all(options.store_directory);
  return transport;
}

}  // namespace
}  // namespace tandem::bench

int main(int count, char** arguments) {
  tandem::bench::Settings settings;
  CLI::App app("Sparse schemes against dense all-reduces, under mpirun");
  tandem::bench::add_options(app, settings);
  CLI11_PARSE(app, count, arguments);
  try {
    tandem::transport::mpi::Environment environment;
    const auto transport = tandem::bench::connect(settings, environment);
    tandem::bench::Race(settings, *transport).run();
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
