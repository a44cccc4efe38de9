// SPDX-License-Identifier: Apache-2.0
//
// The lock is on the folder itself, so no file is left behind.
#include "apps/train/out_folder.h"

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "common/error.h"

namespace tandem::apps {
namespace {

namespace fs = std::filesystem;

// The first name, in order, that a save may replace or remove; empty if there is none.
std::string occupied_name(const std::string& path) {
  std::string first;
  for (const auto& entry : fs::directory_iterator(path)) {
    const std::string name = entry.path().filename().string();
    const bool is_of_runs = name == "latest" || name.starts_with("step-");
    if (is_of_runs && (first.empty() || name < first)) first = name;
  }
  return first;
}

bool is_in(const std::string& checkpoint, const std::string& path) {
  std::error_code ignored;
  return fs::equivalent(fs::absolute(checkpoint).parent_path(), path, ignored);
}

}  // namespace

OutFolder::OutFolder(const std::string& path, const training::Checkpoint* resumed, bool locks)
    : path_(path) {
  if (path_.empty()) return;
  std::error_code error;
  is_made_ = fs::create_directories(path_, error) && locks;
  if (error) throw Error("train", "--out " + path_ + " cannot be made: " + error.message());
  if (locks) lock();
  try {
    check(resumed);
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

OutFolder::~OutFolder() {
  if (is_made_) ::rmdir(path_.c_str());  // fails where anything was saved
  if (descriptor_ >= 0) ::close(descriptor_);
}

void OutFolder::lock() {
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor_ < 0 || ::flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) {
    return;
  }
  ::close(descriptor_);
  throw Error("train", fmt::format("--out {0} is in use by another run; wait for its end, or name "
                                   "another folder",
                                   path_));
}

void OutFolder::check(const training::Checkpoint* resumed) const {
  if (resumed != nullptr && is_in(resumed->folder, path_)) return;
  const std::string name = occupied_name(path_);
  if (name.empty()) return;
  const fs::path folder(path_);
  if (!fs::exists(folder / "latest") && !fs::exists(folder / name / "checkpoint.json")) {
    throw Error("train", fmt::format("--out {} has '{}', which is no checkpoint and would be "
                                     "replaced or removed by one; name another folder",
                                     path_, name));
  }
  throw Error("train", fmt::format("--out {0} has the checkpoints of another run: --resume {0} "
                                   "continues that run; for a new one, name another folder",
                                   path_));
}

}  // namespace tandem::apps
