// SPDX-License-Identifier: Apache-2.0
//
// Fuzz target: a file of a tensor from hostile bytes. Whatever is read has all indices below its
// sizes, and is the same when it is written and read again.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "common/error.h"
#include "support/fuzz_main.h"
#include "tensor/sparse/files/read_tensor.h"
#include "tensor/sparse/files/write_tensor.h"

namespace tandem::test {

void add_fuzz_seeds(std::vector<std::string>& seeds) {
  seeds.push_back("3\n4 5 6\n1 2 3 1.5\n4 5 6 -2e-3\n");
  seeds.push_back("# sizes 4 5 6\n1 2 3 1.5\n\n% note\n4 5 6 7\n");
  seeds.push_back("1 18446744073709551615 1\n2 4294967297 +.5\r\n");
  seeds.push_back("%%MatrixMarket matrix coordinate real general\n% note\n3 4 2\n1 1 1\n3 4 2\n");
  seeds.push_back("%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n1 1\n3 2\n");
  seeds.push_back("%%matrixmarket matrix coordinate integer skew-symmetric\n3 3 1\n3 2 7\n");
  // "1 2 3\n" through gzip: alone, twice with padding, and with text behind it.
  const std::string stream(
      "\x1f\x8b\x08\0\0\0\0\0\x02\xff\x33\x54\x30\x52\x30\xe6\x02\0"
      "\x4b\xa0\xf4\xc9\x06\0\0\0",
      26);
  seeds.push_back(stream);
  seeds.push_back(stream + stream + std::string(9, '\0'));
  seeds.push_back(stream + "4 5 6\n");
}

namespace {

// A file without a name.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(memfd_create("tensor", 0)) {
    if (descriptor_ < 0) std::abort();
  }
  ~MemoryFile() { close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  int descriptor() const { return descriptor_; }
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

// As read_tensor(), through small blocks: large ones cost a sanitizer a hundred times the text.
sparse::CooTensor read_small(const std::string& path, ThreadPool& pool) {
  sparse::CooTensor whole;
  sparse::read_chunks(path, std::size_t{1} << 16, pool,
                      [&](sparse::CooTensor chunk) { whole = std::move(chunk); });
  return whole;
}

void check_tensor(const sparse::CooTensor& tensor, ThreadPool& pool) {
  for (std::size_t mode = 0; mode < tensor.order(); ++mode) {
    for (std::size_t entry = 0; entry < tensor.num_entries(); ++entry) {
      if (tensor.indices[mode][entry] >= tensor.sizes[mode]) std::abort();
    }
  }
  const MemoryFile file;
  sparse::write_tensor(tensor, file.path(), {}, pool);
  if (!(read_small(file.path(), pool) == tensor)) std::abort();
}

}  // namespace
}  // namespace tandem::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tandem;
  static ThreadPool pool(1);
  const test::MemoryFile file;
  if (write(file.descriptor(), data, size) != static_cast<ssize_t>(size)) std::abort();
  try {
    test::check_tensor(test::read_small(file.path(), pool), pool);
  } catch (const Error&) {
  }
  return 0;
}
