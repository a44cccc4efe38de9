// SPDX-License-Identifier: Apache-2.0
//
// A folder of an owner's own that is removed with all that is in it at the end. Errors:
// Error(module, ...) naming the folder.
#pragma once

#include <string>

namespace tandem {

class ScratchFolder {
 public:
  // `beginning`: the path up to the part that makes the name unlike all others ("/tmp/name."); a
  // name alone is in the folder of temporary files.
  ScratchFolder(const std::string& module, const std::string& beginning);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::string& path() const { return path_; }  // absolute

 private:
  std::string path_;
};

}  // namespace tandem
