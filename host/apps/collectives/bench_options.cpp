// SPDX-License-Identifier: Apache-2.0
//
// The options in groups: tensor, call, ranks, measurement.
#include "apps/collectives/bench_options.h"

#include "apps/command_words.h"
#include "collectives/codec/codec.h"
#include "collectives/scheme/scheme.h"
#include "common/error.h"

namespace tandem::apps {
namespace {

void add_tensor_options(CLI::App& command, BenchOptions& options) {
  command.add_option("--pattern", options.pattern, "source of the gradients")
      ->check(CLI::IsMember({"synthetic", "zipf", "top-k"}))
      ->capture_default_str();
  command.add_option("--elements", options.elements, "values of the dense tensor (synthetic)")
      ->check(in_range(1, 4294967296.0))
      ->capture_default_str();
  command
      .add_option("--density", options.density,
                  "share of non-zero values, above 0 to 1 (synthetic, top-k)")
      ->capture_default_str();
  command
      .add_option(
          "--skew", options.skew,
          "imbalance: entries of the fullest of n equal ranges, divided by their mean (synthetic)")
      ->capture_default_str();
  command.add_option("--overlap", options.overlap,
                     "share of its non-zeros that a rank has in common with another, 0 to 1 "
                     "(synthetic; default: they are independent)");
  command
      .add_option("--corpus", options.corpus, "text whose words make embedding gradients (zipf)")
      ->check(CLI::ExistingFile);
  command.add_option("--tokens", options.tokens, "words in a rank's batch (zipf)")
      ->capture_default_str();
  command.add_option("--width", options.width, "values of an embedding row (zipf)")
      ->capture_default_str();
  command.add_option("--gradients", options.gradients, "folder of gradient-<rank>.f32 (top-k)")
      ->check(CLI::ExistingDirectory);
  command.add_option("--seed", options.seed, "seed of the synthetic gradients")
      ->check(count_value())
      ->capture_default_str();
}

void add_call_options(CLI::App& command, BenchOptions& options) {
  command
      .add_option("--schemes", options.schemes,
                  "schemes to measure, separated by commas (default: auto and all)")
      ->delimiter(',');
  command
      .add_option("--codec", options.codec,
                  "encoding of messages: auto, coo32, coo16, delta, bitmap, blocks or dense")
      ->capture_default_str();
  command.add_option("--type", options.type, "type of the values")
      ->check(CLI::IsMember({"f32", "f16", "bf16", "f64", "u64"}))
      ->capture_default_str();
  command.add_option("--wire", options.wire, "send f32 values in this type")
      ->check(CLI::IsMember({"f16", "bf16"}));
  command
      .add_option("--reduction", options.reduction, "what is computed from the values of all ranks")
      ->check(CLI::IsMember({"sum", "mean", "max"}))
      ->capture_default_str();
  command
      .add_option("--aggregator", options.aggregator,
                  "where sparse vectors are added up: cpu, or a device such as xrt:0 or cuda:0")
      ->capture_default_str();
  command.add_option("--ranks-per-node", options.ranks_per_node,
                     "ranks of a node (0: those with the same name of the machine)");
}

void add_rank_options(CLI::App& command, BenchOptions& options) {
  command
      .add_option("--transport", options.transport,
                  "how ranks send to each other; inproc: they are threads of this process")
      ->check(CLI::IsMember({"inproc", "mpi", "gloo", "nccl"}))
      ->capture_default_str();
  command
      .add_option("--world", options.world,
                  "number of ranks (default: 4; with mpi, what mpirun says)")
      ->check(CLI::Range(1, 1024));
  command.add_option("--rank", options.rank,
                     "gloo, nccl: the rank of this process (default: start all ranks here)");
  command.add_option("--launcher", options.launcher)->group("");  // not for people
  command.add_option("--store", options.store,
                     "gloo, nccl: where ranks meet: a shared folder, or redis://host:port");
  command.add_option("--gpu", options.gpu, "nccl: number of this rank's GPU (default: its rank)");
  command.add_flag("--symmetric", options.symmetric,
                   "nccl: kernels store into the peers' memory (NCCL 2.28, one node)");
  command.add_option("--interface", options.interface, "gloo: network interface to listen on");
  command.add_option("--address", options.address, "gloo: own name or address to listen on");
}

// An option without effect is an error, since it is probably a mistake.
void check_applicable(const CLI::App& command, const BenchOptions& options) {
  struct Applies {
    const char* option;
    bool applies;
    const char* to;
  };
  const bool synthetic = options.pattern == "synthetic";
  const bool zipf = options.pattern == "zipf";
  const bool meets = options.transport == "gloo" || options.transport == "nccl";
  for (const Applies& each :
       {Applies{"--elements", synthetic, "--pattern synthetic"},
        Applies{"--skew", synthetic, "--pattern synthetic"},
        Applies{"--overlap", synthetic, "--pattern synthetic"},
        Applies{"--seed", synthetic, "--pattern synthetic"},
        Applies{"--density", !zipf, "--pattern synthetic and top-k"},
        Applies{"--corpus", zipf, "--pattern zipf"}, Applies{"--tokens", zipf, "--pattern zipf"},
        Applies{"--width", zipf, "--pattern zipf"},
        Applies{"--gradients", options.pattern == "top-k", "--pattern top-k"},
        Applies{"--rank", meets, "--transport gloo and nccl"},
        Applies{"--store", meets, "--transport gloo and nccl"},
        Applies{"--interface", meets, "--transport gloo and nccl"},
        Applies{"--address", meets, "--transport gloo and nccl"},
        Applies{"--gpu", options.transport == "nccl", "--transport nccl"},
        Applies{"--symmetric", options.transport == "nccl", "--transport nccl"}}) {
    if (command.count(each.option) > 0 && !each.applies) {
      throw Error("allreduce-bench", std::string(each.option) + " is for " + each.to);
    }
  }
}

}  // namespace

void add_bench_options(CLI::App& command, BenchOptions& options) {
  add_tensor_options(command, options);
  add_call_options(command, options);
  add_rank_options(command, options);
  command.add_option("--samples", options.samples, "timed calls per scheme")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  command.add_option("--warmup", options.warmup, "calls before the timed ones")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  command.add_option("--timeout", options.timeout_s, "seconds per call")
      ->check(in_range(0.001, 1e6))
      ->capture_default_str();
  command.add_flag("!--no-verify", options.verify,
                   "do not compare with a naive sum (which takes memory)");
  command.add_flag("--json", options.json, "one JSON line per scheme");
  command.add_flag("--explain", options.explain, "print how auto ranked the schemes");
  command.add_option(
      "--matrix", options.matrix,
      "write bytes and messages of every pair of ranks to PATH-<scheme>.csv and PATH-<scheme>.svg");
}

int world_of(const BenchOptions& options) { return options.world > 0 ? options.world : 4; }

void check_bench_options(const CLI::App& command, const BenchOptions& options) {
  const auto require = [](bool holds, const std::string& message) {
    if (!holds) throw Error("allreduce-bench", message);
  };
  require(options.density > 0 && options.density <= 1, "--density must lie in (0, 1]");
  require(options.overlap == -1 || (options.overlap >= 0 && options.overlap <= 1),
          "--overlap must lie in [0, 1]");
  require(options.skew >= 1, "--skew must be at least 1");
  require(options.pattern != "synthetic" ||
              options.density * static_cast<double>(options.elements) >= 0.5,
          "--density of --elements is less than one value");
  require(options.wire.empty() || options.type == "f32",
          "--wire narrows f32 values; --type is " + options.type);
  require(options.tokens > 0 && options.width > 0, "--tokens and --width must be at least 1");
  require(options.pattern != "zipf" || !options.corpus.empty(), "--pattern zipf needs --corpus");
  require(options.pattern != "top-k" || !options.gradients.empty(),
          "--pattern top-k needs --gradients");
  std::string codecs = "auto";
  for (const collectives::Codec codec : collectives::all_codecs()) {
    codecs += ", " + std::string(collectives::codec_name(codec));
  }
  require(collectives::codec_from_name(options.codec).has_value(),
          "no codec is called '" + options.codec + "'; there are: " + codecs);
  for (const std::string& scheme : options.schemes) {
    if (scheme != "auto") collectives::scheme_by_name(scheme);
  }
  require(options.rank < world_of(options), "--rank must be below --world");
  require(options.rank < 0 || !options.store.empty(), "--rank needs --store");
  check_applicable(command, options);
}

}  // namespace tandem::apps
