// SPDX-License-Identifier: Apache-2.0
//
// The folder for a stage's intermediate files. It is removed with the object. With --save-temps it
// is <temp_dir>/<stage>/<name>-<hash of the output's path> and stays.
//
// Errors: Error when the folder cannot be made. Threads: any.
#pragma once

#include <memory>
#include <string>

#include "bitstreams/xclbin/interruption.h"

namespace tandem::vpp {

// The folder that --save-temps keeps for the stage that makes `output`. Outputs of one name in
// different folders have separate folders.
std::string kept_folder(const std::string& temp_dir, const std::string& stage,
                        const std::string& output);

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
  std::unique_ptr<xclbin::RemovedOnInterruption> guard_;
};

}  // namespace tandem::vpp
