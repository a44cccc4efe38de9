// SPDX-License-Identifier: Apache-2.0
//
// Where a stage keeps its intermediate files: a folder that vanishes with the object, or with
// --save-temps the folder <temp_dir>/<stage>/<name>, which stays.
//
// Errors: Error when the folder cannot be made. Threads: any.
#pragma once

#include <string>

namespace tandem::vpp {

class WorkFolder {
 public:
  // `kept`: the folder to keep; empty for a temporary one.
  explicit WorkFolder(const std::string& kept);
  ~WorkFolder();
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;

  const std::string& path() const { return path_; }
  // The path of `name` in the folder.
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
  bool keep_ = false;
};

}  // namespace tandem::vpp
