// SPDX-License-Identifier: Apache-2.0
//
// Opens nothing: a file that may not be read is an error of its reader.
#include "training/trainer/input_file.h"

#include <filesystem>

#include "common/error.h"

namespace tandem::training {

void require_file(const std::string& path, const std::string& wanted) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (std::filesystem::is_regular_file(status)) return;
  std::string reason = "it is not a regular file";
  if (std::filesystem::is_directory(status)) reason = "it is a folder";
  if (!std::filesystem::exists(status)) reason = error.message();
  throw Error("train", "cannot read '" + path + "': " + reason + "; name " + wanted);
}

}  // namespace tandem::training
