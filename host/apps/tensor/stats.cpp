// SPDX-License-Identifier: Apache-2.0
//
// `tandem tensor stats FILE`: prints sizes, entries, values, and the memory of each format.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>

#include "apps/json_text.h"
#include "apps/tensor/large_tensor.h"
#include "apps/tensor/tensor_commands.h"
#include "apps/tensor/tensor_output.h"
#include "tensor/sparse/formats/compressed_matrix.h"

namespace tandem::apps {
namespace {

using Json = nlohmann::ordered_json;

struct StatsOptions {
  std::string path;
  bool json = false;
  std::uint64_t memory = 0;
  int threads = 0;
};

// Of all entries, in their order.
struct EntryTotals {
  std::uint64_t entries = 0, zeros = 0;
  double least = 0, most = 0, sum = 0;
  std::vector<std::size_t> index_bytes;  // [order] of one index

  void add(const sparse::CooTensor& chunk) {
    index_bytes.resize(chunk.order(), 4);
    for (std::size_t mode = 0; mode < chunk.order(); ++mode) {
      if (chunk.indices[mode].wide()) index_bytes[mode] = 8;
    }
    for (const double value : chunk.values) {
      least = entries == 0 ? value : std::min(least, value);
      most = entries == 0 ? value : std::max(most, value);
      sum += value;
      zeros += value == 0 ? 1 : 0;
      ++entries;
    }
  }
};

Json values_json(const EntryTotals& totals) {
  if (totals.entries == 0) return nullptr;
  return {{"min", totals.least}, {"max", totals.most}, {"sum", totals.sum}};
}

// Bytes of the same entries in each format that can hold them.
Json bytes_json(std::span<const std::uint64_t> sizes, const EntryTotals& totals) {
  std::uint64_t entry_bytes = sizeof(double);
  for (const std::size_t bytes : totals.index_bytes) entry_bytes += bytes;
  Json bytes{{"coo", totals.entries * entry_bytes}};
  if (sizes.size() == 2) {
    const auto csr = sparse::compressed_bytes(sizes[0], sizes[1], totals.entries);
    const auto csc = sparse::compressed_bytes(sizes[1], sizes[0], totals.entries);
    if (csr) bytes["csr"] = *csr;
    if (csc) bytes["csc"] = *csc;
  }
  int bits = 0;
  for (const std::uint64_t size : sizes) bits += sparse::index_bits(size);
  if (bits <= 64) bytes["linear"] = totals.entries * 16;
  return bytes;
}

Json stats_json(const StatsOptions& options) {
  ThreadPool pool(options.threads);
  const Stopwatch watch;
  LargeTensor tensor(options.path, tensor_memory(options.memory), pool);
  const double read_ms = watch.ms();
  EntryTotals totals;
  tensor.visit([&](const sparse::CooTensor& chunk) { totals.add(chunk); });
  return {{"file", options.path},
          {"order", tensor.sizes.size()},
          {"sizes", tensor.sizes},
          {"nnz", totals.entries},
          {"duplicates", tensor.num_read - totals.entries},
          {"stored_zeros", totals.zeros},
          {"density", static_cast<double>(totals.entries) / sparse::num_cells(tensor.sizes)},
          {"values", values_json(totals)},
          {"bytes", bytes_json(tensor.sizes, totals)},
          {"runs", tensor.sorted ? tensor.sorted->num_runs() : 0},
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
  add_tensor_memory(*command, o->memory);
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
