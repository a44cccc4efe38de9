// SPDX-License-Identifier: Apache-2.0
//
// Reading of text files.
#include "model/loader/read_text.h"

#include "common/error.h"
#include "model/loader/mapped_file.h"

namespace tandem::model {

std::string read_text(const std::string& path, std::size_t max_bytes) {
  const MappedFile file(path);
  const auto bytes = file.bytes();
  if (bytes.size() > max_bytes) {
    throw Error("model", path + ": has " + std::to_string(bytes.size()) + " bytes, more than the " +
                             std::to_string(max_bytes) + " that are read");
  }
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace tandem::model
