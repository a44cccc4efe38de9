// SPDX-License-Identifier: Apache-2.0
//
// `tandem tensor stats FILE`: prints sizes, entries, values, and the memory of each format.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/json_text.h"
#include "apps/tensor/tensor_commands.h"
#include "apps/tensor/tensor_output.h"
#include "tensor/sparse/files/read_tensor.h"
#include "tensor/sparse/formats/compressed_matrix.h"
#include "tensor/sparse/formats/entry_order.h"

namespace tandem::apps {
namespace {

using Json = nlohmann::ordered_json;

struct StatsOptions {
  std::string path;
  bool json = false;
  int threads = 0;
};

Json values_json(const sparse::CooTensor& tensor) {
  if (tensor.num_entries() == 0) return nullptr;
  const auto [least, most] = std::minmax_element(tensor.values.begin(), tensor.values.end());
  double sum = 0;
  for (const double value : tensor.values) sum += value;
  return {{"min", *least}, {"max", *most}, {"sum", sum}};
}

// Bytes of the same entries in each format that can hold them.
Json bytes_json(const sparse::CooTensor& tensor) {
  Json bytes{{"coo", tensor.size_bytes()}};
  if (tensor.order() == 2) {
    const std::uint64_t rows = tensor.sizes[0], columns = tensor.sizes[1];
    const auto csr = sparse::compressed_bytes(rows, columns, tensor.num_entries());
    const auto csc = sparse::compressed_bytes(columns, rows, tensor.num_entries());
    if (csr) bytes["csr"] = *csr;
    if (csc) bytes["csc"] = *csc;
  }
  int bits = 0;
  for (const std::uint64_t size : tensor.sizes) bits += sparse::index_bits(size);
  if (bits <= 64) bytes["linear"] = tensor.num_entries() * 16;
  return bytes;
}

Json stats_json(const StatsOptions& options) {
  ThreadPool pool(options.threads);
  const Stopwatch watch;
  sparse::CooTensor tensor = sparse::read_tensor(options.path, pool);
  const double read_ms = watch.ms();
  const std::size_t before = tensor.num_entries();
  sparse::sum_duplicates(tensor, pool);
  const auto zeros = std::count(tensor.values.begin(), tensor.values.end(), 0.0);
  return {{"file", options.path},
          {"order", tensor.order()},
          {"sizes", tensor.sizes},
          {"nnz", tensor.num_entries()},
          {"duplicates", before - tensor.num_entries()},
          {"stored_zeros", zeros},
          {"density", static_cast<double>(tensor.num_entries()) / sparse::num_cells(tensor.sizes)},
          {"values", values_json(tensor)},
          {"bytes", bytes_json(tensor)},
          {"read_ms", read_ms}};
}

void print_stats(const Json& stats) {
  fmt::print("{}\n  order {}, sizes {}\n", stats["file"].get<std::string>(),
             stats["order"].get<std::size_t>(),
             sizes_words(stats["sizes"].get<std::vector<std::uint64_t>>()));
  fmt::print("  {} entries, {} duplicates summed, {} stored zeros, density {:.6g}\n",
             stats["nnz"].get<std::uint64_t>(), stats["duplicates"].get<std::uint64_t>(),
             stats["stored_zeros"].get<std::uint64_t>(), stats["density"].get<double>());
  if (!stats["values"].is_null()) {
    fmt::print("  values {} .. {}, sum {}\n", stats["values"]["min"].get<double>(),
               stats["values"]["max"].get<double>(), stats["values"]["sum"].get<double>());
  }
  for (const auto& [format, bytes] : stats["bytes"].items()) {
    fmt::print("  {:<7} {:>12} bytes\n", format, bytes.get<std::uint64_t>());
  }
}

}  // namespace

void add_tensor_stats(CLI::App& tensor) {
  CLI::App* command = tensor.add_subcommand("stats", "Sizes, entries, values, bytes of formats");
  auto o = std::make_shared<StatsOptions>();
  add_tensor_file(*command, o->path);
  command->add_flag("--json", o->json, "print JSON");
  add_tensor_threads(*command, o->threads);
  command->callback([o] {
    const Json stats = stats_json(*o);
    if (o->json) {
      fmt::print("{}\n", json_text(stats));
    } else {
      print_stats(stats);
    }
  });
}

}  // namespace tandem::apps
