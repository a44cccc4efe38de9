// SPDX-License-Identifier: Apache-2.0
//
// `tandem quantize IN OUT --type q4_k`: a model file with its matrices in another type;
// `--prune 0.9`: with the smallest values of its matrices set to zero.
//
// OUT appears when it is complete and on the disk (whole_file.h).
#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>

#include "apps/models/command.h"
#include "apps/whole_file.h"
#include "common/error.h"
#include "model/loader/gguf/gguf_conversion.h"
#include "tensor/prune.h"
#include "tensor/quantize.h"
#include "tensor/quantize_matrix.h"

namespace tandem::apps {
namespace {

namespace fs = std::filesystem;

struct QuantizeOptions {
  std::string from, to, type;
  std::optional<double> prune;
  std::string scope = "row", pattern = "values";
  bool prunes_output = false;
  int threads = 0;
  bool force = false;
};

std::vector<DType> offered_types() {
  const auto blocks = quantizable_types();
  std::vector<DType> types(blocks.begin(), blocks.end());
  types.push_back(DType::kF16);
  types.push_back(DType::kBF16);
  return types;
}

std::vector<std::string> type_names() {
  std::vector<std::string> names = {"f32"};
  for (const DType type : offered_types()) names.emplace_back(dtype_name(type));
  return names;
}

bool is_float(DType type) {
  return type == DType::kF32 || type == DType::kF16 || type == DType::kBF16;
}

DType type_named(const std::string& name) {
  if (name == "f32") return DType::kF32;
  for (const DType type : offered_types()) {
    if (dtype_name(type) == name) return type;
  }
  throw Error("quantize",
              "'" + name + "' is not a type of weight; `tandem quantize --help` lists them");
}

// The path to write: OUT without links.
std::string checked_target(const QuantizeOptions& options) {
  std::error_code error;
  if (fs::equivalent(options.from, options.to, error)) {
    throw Error("quantize", "'" + options.to + "' is the file that is read; name another");
  }
  std::string target = regular_target("quantize", options.to);
  if (fs::exists(target, error) && !options.force) {
    throw Error("quantize", "'" + options.to + "' exists; --force replaces it");
  }
  return target;
}

// Under another name first: OUT is always whole.
void save(const model::GgufWriter& writer, const std::string& path) {
  WholeFile file("quantize", path);
  std::ofstream out(file.open_path(), std::ios::binary);
  if (!out) file.fail(errno);
  try {
    writer.write(out);
  } catch (const Error&) {
    if (out) throw;                       // what is wrong is a value, not the disk
    file.fail(errno == 0 ? EIO : errno);  // of the write that failed
  }
  out.close();
  if (!out) file.fail(errno);
  file.keep();
}

// Each rounding adds to the error of the one before.
void warn_of_rounding_twice(const model::GgufFile& file) {
  int rounded = 0;
  for (const model::GgufTensor& tensor : file.tensors()) {
    if (model::is_matrix_of_products(tensor) && !is_float(tensor.dtype)) ++rounded;
  }
  if (rounded == 0) return;
  spdlog::warn(
      "{} matrices of the model are quantised already; quantising them again loses more "
      "than quantising the original in floats",
      rounded);
}

// The matrices of the layers. Others are as sensitive as norms, or are tables.
bool is_pruned(const QuantizeOptions& options, const model::GgufTensor& tensor) {
  if (!options.prune || !model::is_matrix_of_products(tensor)) return false;
  return tensor.name.starts_with("blk.") ||
         (options.prunes_output && tensor.name == "output.weight");
}

// The table of a model without an output projection of its own, if the projection is to be pruned.
const model::GgufTensor* pruned_table(const QuantizeOptions& options, const model::GgufFile& file) {
  const model::GgufTensor* table = nullptr;
  for (const model::GgufTensor& tensor : file.tensors()) {
    if (tensor.name == "output.weight") return nullptr;
    if (tensor.name == "token_embd.weight") table = &tensor;
  }
  return options.prune && options.prunes_output ? table : nullptr;
}

DType pruned_type(const QuantizeOptions& options, const model::GgufTensor& tensor) {
  const DType wanted = options.type.empty() ? tensor.dtype : type_named(options.type);
  if (is_float(wanted)) return wanted;
  throw Error("quantize", "'" + std::string(tensor.name) + "' would be pruned in " +
                              std::string(dtype_name(wanted)) +
                              "; add --type bf16, f16 or f32, in which a zero stays zero");
}

// A zero must stay zero: a pruned matrix has floats, even where they are larger than its blocks.
DType type_of(const QuantizeOptions& options, const model::GgufTensor& tensor) {
  if (!model::is_matrix_of_products(tensor)) return tensor.dtype;
  const DType wanted = options.type.empty() ? tensor.dtype : type_named(options.type);
  if (!is_pruned(options, tensor)) {
    return fitting_type(wanted, tensor.dtype, static_cast<std::int64_t>(tensor.dims[0]));
  }
  return pruned_type(options, tensor);
}

void check(const QuantizeOptions& options) {
  if (options.type.empty() && !options.prune) {
    throw Error("quantize", "nothing is to be changed; add --type or --prune");
  }
  if (options.type == "f32" && !options.prune) {
    throw Error("quantize", "--type f32 makes no matrix smaller; use it together with --prune");
  }
  if (options.prune) return;
  if (options.scope != "row" || options.pattern != "values" || options.prunes_output) {
    throw Error("quantize", "--prune-scope, --prune-pattern and --prune-output need --prune");
  }
}

// Null if nothing is to be pruned.
std::unique_ptr<Pruner> pruner_of(const QuantizeOptions& options, const model::GgufFile& file,
                                  ThreadPool& pool) {
  if (!options.prune) return nullptr;
  std::vector<TensorView> matrices;
  for (const model::GgufTensor& tensor : file.tensors()) {
    if (is_pruned(options, tensor)) matrices.push_back(model::as_rows(tensor));
  }
  if (const model::GgufTensor* table = pruned_table(options, file); table != nullptr) {
    matrices.push_back(model::as_rows(*table));
  }
  if (matrices.empty()) throw Error("quantize", "'" + options.from + "' has no matrix to prune");
  const PruneOptions prune{*options.prune,
                           options.scope == "global" ? PruneScope::kGlobal : PruneScope::kRow,
                           parse_prune_pattern(options.pattern)};
  return std::make_unique<Pruner>(prune, matrices, pool);
}

void report(const QuantizeOptions& options, const std::map<DType, int>& changed,
            const Pruner* pruner, std::size_t num_tensors, double seconds) {
  std::string kinds;
  for (const auto& [type, count] : changed) {
    kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", count, dtype_name(type));
  }
  fmt::print("{}: {:.1f} MiB from {:.1f}, matrices now {} of {} tensors, {:.1f} s\n", options.to,
             static_cast<double>(fs::file_size(options.to)) / (1 << 20),
             static_cast<double>(fs::file_size(options.from)) / (1 << 20),
             kinds.empty() ? "as before" : kinds, num_tensors, seconds);
  if (pruner == nullptr) return;
  fmt::print("{} of {} values of the pruned matrices are zero ({:.2f} %)\n", pruner->zeros(),
             pruner->values(),
             100.0 * static_cast<double>(pruner->zeros()) / static_cast<double>(pruner->values()));
}

void run(const QuantizeOptions& options) {
  check(options);
  const model::GgufFile file(options.from);
  if (file.get_u32("split.count").value_or(1) > 1) {
    throw file.field_error("split.count", "the model is split; merge its files into one first");
  }
  const std::string target = checked_target(options);
  warn_of_rounding_twice(file);
  std::map<DType, int> changed;
  const auto count_types = [&](const model::GgufTensor& tensor) {
    const DType type = type_of(options, tensor);
    if (type != tensor.dtype) ++changed[type];
    return type;
  };
  const auto start = std::chrono::steady_clock::now();
  ThreadPool pool(options.threads);
  const auto pruner = pruner_of(options, file, pool);
  const model::GgufTensor* const table = pruned_table(options, file);
  const model::GgufPruning pruning{
      pruner.get(), [&](const model::GgufTensor& tensor) { return is_pruned(options, tensor); },
      table, table == nullptr ? DType::kF32 : pruned_type(options, *table)};
  const model::GgufWriter writer = model::convert_gguf(file, count_types, pool, pruning);
  if (changed.empty() && pruner == nullptr) {
    throw Error("quantize", "'" + options.from + "' has no matrix that " + options.type +
                                " would make smaller");
  }
  save(writer, target);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  report(options, changed, pruner.get(), file.tensors().size(), seconds.count());
}

void add_prune_options(CLI::App& command, QuantizeOptions& o) {
  command.add_option("--prune", o.prune,
                     "set this part of the values of the layers' matrices to zero, the smallest "
                     "first; the CPU multiplies such matrices without their zeros where this is "
                     "faster");
  command
      .add_option("--prune-scope", o.scope,
                  "where the smallest values are searched: in each row, or in all matrices "
                  "together (global)")
      ->check(CLI::IsMember({"row", "global"}));
  command.add_option(
      "--prune-pattern", o.pattern,
      "what is set to zero: values: each by itself; N:M: all but the largest N of each M values "
      "of a row, such as 2:4 with --prune 0.5; RxC: whole blocks, such as 8x8");
  command.add_flag("--prune-output", o.prunes_output,
                   "prune the output projection, too; a model whose projection is its table of "
                   "embeddings gets a pruned copy of the table");
}

}  // namespace

void add_quantize(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "quantize", "Write a model file with its matrices in a smaller type, or pruned");
  auto o = std::make_shared<QuantizeOptions>();
  command->add_option("in", o->from, "GGUF file to read")->required()->check(CLI::ExistingFile);
  command->add_option("out", o->to, "GGUF file to write")->required();
  command
      ->add_option("--type", o->type,
                   "type of the matrices, the table of embeddings included; rows that do not "
                   "divide into 256 values get "
                   "q4_1 for q4_k, q5_1 for q5_k, q8_0 for q6_k; nothing is made larger, except "
                   "floats that are pruned")
      ->check(CLI::IsMember(type_names()));
  add_prune_options(*command, *o);
  command->add_option("--threads", o->threads, "CPU threads (0: all cores)")
      ->check(CLI::Range(0, 1024));
  command->add_flag("--force", o->force, "replace OUT where it exists");
  command->callback([o] { run(*o); });
}

}  // namespace tandem::apps
