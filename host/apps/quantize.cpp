// SPDX-License-Identifier: Apache-2.0
//
// `tandem quantize IN OUT --type q4_k`: a model file with its matrices in another type.
//
// The result is written to a new file in OUT's folder. It is renamed to OUT when it is complete and
// on the disk.
#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <map>
#include <random>

#include "apps/command.h"
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

void check_paths(const QuantizeOptions& options) {
  std::error_code error;
  if (fs::equivalent(options.from, options.to, error)) {
    throw Error("quantize", "'" + options.to + "' is the file that is read; name another");
  }
  if (fs::is_directory(options.to, error)) {
    throw Error("quantize", "'" + options.to + "' is a folder; name the file to write");
  }
  if (fs::exists(options.to, error) && !options.force) {
    throw Error("quantize", "'" + options.to + "' exists; --force replaces it");
  }
}

// A new file in the folder of `path`; removed unless it was renamed to `path`.
class PartialFile {
 public:
  explicit PartialFile(const std::string& path) : path_(path) {
    constexpr int kAttempts = 100;
    std::random_device random;
    for (int attempt = 0; file_ < 0 && attempt < kAttempts; ++attempt) {
      partial_ = fmt::format("{}.{:08x}.partial", path, random());
      file_ = ::open(partial_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (file_ < 0 && errno != EEXIST) break;
    }
    if (file_ < 0) fail();
  }
  ~PartialFile() {
    ::close(file_);
    if (!is_kept_) ::unlink(partial_.c_str());
  }
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  const std::string& name() const { return partial_; }

  void keep() {
    if (::fsync(file_) != 0 || ::rename(partial_.c_str(), path_.c_str()) != 0) fail();
    is_kept_ = true;
  }

 private:
  [[noreturn]] void fail() const {
    throw Error("quantize", "cannot write '" + path_ + "': " + std::strerror(errno));
  }

  std::string path_, partial_;
  int file_ = -1;
  bool is_kept_ = false;
};

// Under another name first: OUT is always whole.
void save(const model::GgufWriter& writer, const std::string& path) {
  PartialFile partial(path);
  writer.save(partial.name());
  partial.keep();
}

void run(const QuantizeOptions& options) {
  const DType wanted = type_named(options.type);
  const model::GgufFile file(options.from);
  if (file.get_u32("split.count").value_or(1) > 1) {
    throw file.field_error("split.count", "the model is split; merge its files into one first");
  }
  check_paths(options);
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
  save(writer, options.to);
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
