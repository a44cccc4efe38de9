// SPDX-License-Identifier: Apache-2.0
//
// Files of tensors for tests: a text, plain or gzip, at a path of its own.
#pragma once

#include <zlib.h>

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

#include "support/scratch_path.h"
#include "tensor/sparse/files/read_tensor.h"

namespace tandem::sparse::test {

class TensorFile {
 public:
  explicit TensorFile(const std::string& text) : path_("tensor.tns") {
    std::ofstream(path_.string(), std::ios::binary) << text;
  }
  std::string path() const { return path_.string(); }

 private:
  tandem::test::ScratchPath path_;
};

inline std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline std::string zipped(const std::string& text) {
  const tandem::test::ScratchPath path("tensor.gz");
  const gzFile file = gzopen(path.string().c_str(), "wb");
  const int count = gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  if (gzclose(file) != Z_OK || count != static_cast<int>(text.size())) {
    throw std::runtime_error("cannot write " + path.string());
  }
  return bytes_of(path.string());
}

inline CooTensor tensor_of_text(const std::string& text, int threads = 2) {
  ThreadPool pool(threads);
  return read_tensor(TensorFile(text).path(), pool);
}

}  // namespace tandem::sparse::test
