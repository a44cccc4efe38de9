// SPDX-License-Identifier: Apache-2.0
//
// Parts of the entries are formatted in parallel, then written in order.
#include "tensor/sparse/files/write_tensor.h"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <vector>

#include "common/error.h"
#include "tensor/sparse/formats/radix_sort.h"

namespace tandem::sparse {
namespace {

constexpr std::size_t kEntriesOfPart = 1 << 16;

template <typename Number>
void append_number(Number number, std::string& text) {
  char buffer[32];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, number);
  text.append(buffer, result.ptr);
}

std::string words(std::span<const std::uint64_t> numbers) {
  std::string text;
  for (const std::uint64_t number : numbers) {
    text += ' ';
    append_number(number, text);
  }
  return text;
}

std::string header_of(std::span<const std::uint64_t> mode_sizes, std::uint64_t num_entries,
                      TextFormat format) {
  const std::string sizes = words(mode_sizes);
  if (format == TextFormat::kTns) return "# sizes" + sizes + "\n";
  if (format == TextFormat::kTnsWithHeader) {
    return std::to_string(mode_sizes.size()) + "\n" + sizes.substr(1) + "\n";
  }
  return "%%MatrixMarket matrix coordinate real general\n" + sizes.substr(1) + " " +
         std::to_string(num_entries) + "\n";
}

std::string lines_of(const CooTensor& tensor, std::size_t begin, std::size_t end) {
  std::string text;
  text.reserve((end - begin) * (tensor.order() * 8 + 12));
  for (std::size_t entry = begin; entry < end; ++entry) {
    for (std::size_t mode = 0; mode < tensor.order(); ++mode) {
      append_number(tensor.indices[mode][entry] + 1, text);
      text += ' ';
    }
    append_number(tensor.values[entry], text);
    text += '\n';
  }
  return text;
}

}  // namespace

// A file that is written, plain or gzip.
class TensorWriter::TextFile {
 public:
  TextFile(const std::string& path, const WriteOptions& options)
      : name_(options.name.empty() ? path : options.name) {
    errno = 0;
    file_ = gzopen(path.c_str(), options.gzip ? "wb6" : "wbT");  // T: no compression, no header
    if (file_ == nullptr) fail(errno == 0 ? ENOMEM : errno);
    gzbuffer(file_, 1 << 18);
  }
  ~TextFile() {
    if (file_ != nullptr) gzclose(file_);
  }
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;

  void write(const std::string& text) {
    errno = 0;
    if (text.empty()) return;
    const int count = gzwrite(file_, text.data(), static_cast<unsigned>(text.size()));
    if (count != static_cast<int>(text.size())) fail(errno == 0 ? EIO : errno);
  }

  void close() {
    errno = 0;
    const int code = gzclose(std::exchange(file_, nullptr));
    if (code != Z_OK) fail(errno == 0 ? EIO : errno);
  }

 private:
  [[noreturn]] void fail(int error) const {
    throw Error("tensor", "cannot write '" + name_ + "': " + std::strerror(error));
  }

  std::string name_;
  gzFile file_ = nullptr;
};

TensorWriter::TensorWriter(const std::string& path, const WriteOptions& options,
                           std::span<const std::uint64_t> sizes, std::uint64_t num_entries,
                           ThreadPool& pool)
    : pool_(pool) {
  if (options.format == TextFormat::kMatrixMarket && sizes.size() != 2) {
    throw Error("tensor", "a Matrix Market file holds a matrix; this tensor has order " +
                              std::to_string(sizes.size()) + ", so write a .tns file");
  }
  file_ = std::make_unique<TextFile>(path, options);
  file_->write(header_of(sizes, num_entries, options.format));
}

TensorWriter::~TensorWriter() = default;

void TensorWriter::write(const CooTensor& chunk) {
  std::vector<std::string> texts(static_cast<std::size_t>(pool_.num_threads()));
  for (std::size_t begin = 0; begin < chunk.num_entries();) {
    const std::size_t end = std::min(begin + kEntriesOfPart * texts.size(), chunk.num_entries());
    const EqualParts parts{end - begin, texts.size()};
    pool_.run(parts.parts, [&](std::size_t part) {
      texts[part] = lines_of(chunk, begin + parts.bound(part), begin + parts.bound(part + 1));
    });
    for (const std::string& text : texts) file_->write(text);
    begin = end;
  }
}

void TensorWriter::close() { file_->close(); }

void write_tensor(const CooTensor& tensor, const std::string& path, const WriteOptions& options,
                  ThreadPool& pool) {
  TensorWriter writer(path, options, tensor.sizes, tensor.num_entries(), pool);
  writer.write(tensor);
  writer.close();
}

WriteOptions write_options_for(const std::string& path) {
  WriteOptions options;
  std::string_view name = path;
  options.gzip = name.ends_with(".gz");
  if (options.gzip) name.remove_suffix(3);
  if (name.ends_with(".mtx")) {
    options.format = TextFormat::kMatrixMarket;
  } else if (!name.ends_with(".tns")) {
    throw Error("tensor", "'" + path + "' must end in .tns or .mtx, optionally followed by .gz");
  }
  return options;
}

}  // namespace tandem::sparse
