// SPDX-License-Identifier: Apache-2.0
//
// `tandem tensor generate`: a sparse tensor with stated features, or with those of another one.
#include <spdlog/fmt/fmt.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

#include "apps/command_words.h"
#include "apps/json_text.h"
#include "apps/tensor/tensor_commands.h"
#include "apps/tensor/tensor_output.h"
#include "common/error.h"
#include "common/text_parts.h"
#include "tensor/sparse/features/features_text.h"
#include "tensor/sparse/generate/sibling.h"
#include "tensor/sparse/generate/tensor_generator.h"

namespace tandem::apps {
namespace {

struct TensorGenerateOptions {
  std::vector<std::uint64_t> sizes;
  std::optional<double> density, fiber_density, slice_density, cv_fibers, cv_nonzeros;
  std::string like, out;
  std::uint64_t seed = 1;
  bool header = false, json = false;
  int threads = 0;
};

nlohmann::json json_of(const std::string& path) {
  const auto fail = [&](int error) {
    throw Error("generate", "cannot read '" + path + "': " + std::strerror(error));
  };
  std::error_code code;
  if (std::filesystem::is_directory(path, code)) fail(EISDIR);
  std::ifstream file(path);
  if (!file) fail(errno);
  nlohmann::json json = nlohmann::json::parse(file, nullptr, false);
  if (json.is_discarded()) throw Error("generate", "'" + path + "' is not JSON");
  return json;
}

sparse::TensorPlan sibling_of(const std::string& path) {
  const nlohmann::json json = json_of(path);
  try {
    return sparse::plan_sibling(sparse::features_from_json(json));
  } catch (const Error& error) {
    throw Error("generate", "'" + path + "': " + std::string(without_tag(error.what())));
  }
}

sparse::TensorPlan plan_of(const TensorGenerateOptions& o) {
  if (o.like.empty()) {
    if (o.sizes.empty()) throw Error("generate", "give the sizes of the modes, or --like FILE");
    return sparse::plan_tensor({o.sizes, o.density.value_or(sparse::GeneratorOptions().density),
                                o.fiber_density, o.slice_density, o.cv_fibers, o.cv_nonzeros});
  }
  if (!o.sizes.empty() || o.density || o.fiber_density || o.slice_density || o.cv_fibers ||
      o.cv_nonzeros) {
    throw Error("generate",
                "--like takes sizes, densities and variation from its file; give it "
                "without them");
  }
  return sibling_of(o.like);
}

void run_generate(const TensorGenerateOptions& options) {
  sparse::WriteOptions writing = sparse::write_options_for(options.out);
  if (options.header) add_header(writing);
  const sparse::TensorPlan plan = plan_of(options);
  ThreadPool pool(options.threads);
  const Stopwatch watch;
  const sparse::CooTensor tensor = sparse::generate_tensor(plan, options.seed, pool);
  const double ms = watch.ms();
  save_tensor(tensor, options.out, writing, pool);
  if (options.json) {
    const nlohmann::ordered_json json{{"file", options.out},
                                      {"sizes", plan.sizes},
                                      {"nnz", plan.entries},
                                      {"nonempty_fibers", plan.fibers},
                                      {"nonempty_slices", plan.slices},
                                      {"seed", options.seed},
                                      {"ms", ms},
                                      {"total_ms", watch.ms()}};
    fmt::print("{}\n", json_text(json));
  } else {
    fmt::print("{}: {}, {} entries in {} fibers of {} slices, {:.2f} s\n", options.out,
               sizes_words(plan.sizes), plan.entries, plan.fibers, plan.slices, watch.ms() / 1e3);
  }
}

}  // namespace

void add_tensor_generate(CLI::App& tensor) {
  CLI::App* command =
      tensor.add_subcommand("generate", "Make a sparse tensor with stated features");
  auto o = std::make_shared<TensorGenerateOptions>();
  command->add_option("sizes", o->sizes, "sizes of the modes, such as 1000 1000 1000")
      ->check(count_value());
  command->add_option("--density", o->density,
                      "share of the cells that have an entry (default: 0.001)");
  command->add_option("--fiber-density", o->fiber_density,
                      "share of the fibers of the last mode that have entries (default: as many as "
                      "independent random entries would meet)");
  command->add_option(
      "--slice-density", o->slice_density,
      "share of the slices of the last two modes that have entries (default: as many as "
      "independent random entries would meet)");
  command->add_option("--cv-fibers", o->cv_fibers,
                      "coefficient of variation of the fibers in a slice, over slices with "
                      "entries");
  command->add_option("--cv-nonzeros", o->cv_nonzeros,
                      "coefficient of variation of the entries in a fiber, over fibers with "
                      "entries");
  command->add_option(
      "--like", o->like,
      "take sizes and all these features from a file of `tandem tensor features --json`");
  command->add_option("--seed", o->seed, "seed of the random numbers")
      ->check(count_value())
      ->capture_default_str();
  command
      ->add_option(
          "--out", o->out,
          "file to write; the end of its name says the form: .tns, .mtx, .tns.gz or .mtx.gz")
      ->required();
  command->add_flag("--header", o->header, "begin a .tns file with its order and sizes");
  command->add_flag("--json", o->json, "print counts and times as JSON");
  add_tensor_threads(*command, o->threads);
  command->callback([o] { run_generate(*o); });
}

}  // namespace tandem::apps
