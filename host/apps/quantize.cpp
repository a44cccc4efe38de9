// SPDX-License-Identifier: Apache-2.0
//
// `tandem quantize IN OUT --type q4_k`: a model file with its matrices in another type.
//
// OUT appears when it is complete and on the disk (whole_file.h).
#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>

#include "apps/command.h"
#include "apps/whole_file.h"
#include "common/error.h"
#include "model/loader/gguf/gguf_conversion.h"
#include "tensor/quantize.h"
#include "tensor/quantize_matrix.h"

namespace tandem::apps {
namespace {

namespace fs = std::filesystem;

struct QuantizeOptions {
  std::string from, to, type;
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
  std::vector<std::string> names;
  for (const DType type : offered_types()) names.emplace_back(dtype_name(type));
  return names;
}

DType type_named(const std::string& name) {
  for (const DType type : offered_types()) {
    if (dtype_name(type) == name) return type;
  }
  throw Error("quantize", "'" + name + "' is no type of weight");
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
    const bool is_float =
        tensor.dtype == DType::kF32 || tensor.dtype == DType::kF16 || tensor.dtype == DType::kBF16;
    if (model::is_matrix_of_products(tensor) && !is_float) ++rounded;
  }
  if (rounded == 0) return;
  spdlog::warn(
      "{} matrices of the model are quantised already; quantising them again loses more "
      "than quantising the original in floats",
      rounded);
}

void run(const QuantizeOptions& options) {
  const DType wanted = type_named(options.type);
  const model::GgufFile file(options.from);
  if (file.get_u32("split.count").value_or(1) > 1) {
    throw file.field_error("split.count", "the model is split; merge its files into one first");
  }
  const std::string target = checked_target(options);
  warn_of_rounding_twice(file);
  std::map<DType, int> changed;
  const auto type_of = [&](const model::GgufTensor& tensor) {
    if (!model::is_matrix_of_products(tensor)) return tensor.dtype;
    const DType type =
        fitting_type(wanted, tensor.dtype, static_cast<std::int64_t>(tensor.dims[0]));
    if (type != tensor.dtype) ++changed[type];
    return type;
  };
  const auto start = std::chrono::steady_clock::now();
  ThreadPool pool(options.threads);
  const model::GgufWriter writer = model::convert_gguf(file, type_of, pool);
  if (changed.empty()) {
    throw Error("quantize", "'" + options.from + "' has no matrix that " + options.type +
                                " would make smaller");
  }
  save(writer, target);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::string kinds;
  for (const auto& [type, count] : changed) {
    kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", count, dtype_name(type));
  }
  fmt::print("{}: {:.1f} MiB from {:.1f}, matrices now {} of {} tensors, {:.1f} s\n", options.to,
             static_cast<double>(fs::file_size(options.to)) / (1 << 20),
             static_cast<double>(fs::file_size(options.from)) / (1 << 20), kinds,
             file.tensors().size(), seconds.count());
}

}  // namespace

void add_quantize(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("quantize", "Write a model file with its matrices in a smaller type");
  auto o = std::make_shared<QuantizeOptions>();
  command->add_option("in", o->from, "GGUF file to read")->required()->check(CLI::ExistingFile);
  command->add_option("out", o->to, "GGUF file to write")->required();
  command
      ->add_option("--type", o->type,
                   "of matrices, the table included; rows that do not divide into 256 values get "
                   "q4_1 for q4_k, q5_1 for q5_k, q8_0 for q6_k; nothing is made larger")
      ->check(CLI::IsMember(type_names()))
      ->required();
  command->add_option("--threads", o->threads, "CPU threads (0: all cores)")
      ->check(CLI::Range(0, 1024));
  command->add_flag("--force", o->force, "replace OUT where it exists");
  command->callback([o] { run(*o); });
}

}  // namespace tandem::apps
