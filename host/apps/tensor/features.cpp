// SPDX-License-Identifier: Apache-2.0
//
// `tandem tensor features FILE`: how the entries are spread over slices and fibres.
#include <spdlog/fmt/fmt.h>

#include <memory>

#include "apps/json_text.h"
#include "apps/tensor/large_tensor.h"
#include "apps/tensor/tensor_commands.h"
#include "apps/tensor/tensor_output.h"
#include "common/error.h"
#include "tensor/sparse/features/features_text.h"
#include "tensor/sparse/features/spy.h"
#include "tensor/sparse/features/streamed_features.h"

namespace tandem::apps {
namespace {

struct FeaturesOptions {
  std::string path, html;
  bool json = false, csv = false;
  std::uint64_t memory = 0;
  int threads = 0;
};

std::string features_table(const sparse::TensorFeatures& features) {
  std::string text = fmt::format(
      "{}: {} entries, density {:.6g}\nslices {:.6g}, {} with entries ({:.4g})\n"
      "fibers {:.6g}, {} with entries ({:.4g})\n",
      sizes_words(features.sizes), features.num_entries, features.density, features.slices,
      features.nonempty_slices, features.slice_density, features.fibers, features.nonempty_fibers,
      features.fiber_density);
  text += fmt::format("{:<20}{:<8}{:>12}{:>12}{:>9}{:>9}{:>11}{:>9}{:>11}{:>9}\n", "kind", "modes",
                      "all", "nonempty", "max", "min", "average", "cv", "nonempty:", "cv");
  for (const sparse::FeatureRow& row : features.rows) {
    std::string modes;
    for (const std::size_t mode : row.modes)
      modes += (modes.empty() ? "" : "-") + std::to_string(mode);
    const sparse::CountSummary& c = row.counts;
    text += fmt::format("{:<20}{:<8}{:>12.6g}{:>12}{:>9}{:>9}{:>11.4g}{:>9.4g}{:>11.4g}{:>9.4g}\n",
                        count_kind_name(row.kind), modes, c.all, c.nonempty, c.max, c.min,
                        c.average, c.cv, c.average_nonempty, c.cv_nonempty);
  }
  return text;
}

// One picture for each pair of neighbouring modes.
std::vector<std::string> drawings_of(const sparse::CooTensor& tensor) {
  constexpr std::size_t kFields = 64;
  std::vector<std::string> drawings;
  for (std::size_t mode = 0; mode + 1 < tensor.order(); ++mode) {
    drawings.push_back(spy_svg(sparse::spy(tensor, mode, mode + 1, kFields, kFields)));
  }
  return drawings;
}

void run_features(const FeaturesOptions& options) {
  if (options.json && options.csv) {
    throw Error("tensor", "--json and --csv exclude each other");
  }
  ThreadPool pool(options.threads);
  const Stopwatch reading;
  LargeTensor tensor(options.path, tensor_memory(options.memory), pool);
  const double read_ms = reading.ms();
  if (tensor.sorted && !options.html.empty()) {
    throw Error("tensor", "--html draws entries in memory; give more --memory for this file");
  }
  const Stopwatch watch;
  const sparse::TensorFeatures features =
      tensor.sorted ? streamed_features(*tensor.sorted, tensor.sizes, tensor.part(), pool)
                    : features_of(tensor.whole, pool);
  const double ms = tensor.summing_ms + watch.ms();
  if (!options.html.empty()) {
    save_text(features_html(options.path, features, drawings_of(tensor.whole)), options.html);
  }
  if (options.json) {
    nlohmann::ordered_json json{{"file", options.path}};
    json.update(features_json(features));
    json["duplicates"] = tensor.num_read - features.num_entries;
    json["threads"] = pool.num_threads();
    json["read_ms"] = read_ms;
    json["ms"] = ms;
    fmt::print("{}\n", json_text(json));
  } else {
    fmt::print("{}", options.csv ? features_csv(features) : features_table(features));
  }
}

}  // namespace

void add_tensor_features(CLI::App& tensor) {
  CLI::App* command = tensor.add_subcommand(
      "features", "Describe how the entries are spread over slices and fibers");
  auto o = std::make_shared<FeaturesOptions>();
  add_tensor_file(*command, o->path);
  command->add_flag("--json", o->json, "print JSON, which `tandem tensor generate --like` reads");
  command->add_flag("--csv", o->csv, "print CSV");
  command->add_option("--html", o->html, "write a page with tables and pictures here");
  add_tensor_memory(*command, o->memory);
  add_tensor_threads(*command, o->threads);
  command->callback([o] { run_features(*o); });
}

}  // namespace tandem::apps
