// SPDX-License-Identifier: Apache-2.0
//
// OutFolder: the folder of --out, used by one run at a time.
//
// The constructor makes the folder. One rank of a run locks it (flock) until its object ends; the
// kernel ends the lock of a killed process, and a file system without locks is taken as free. If
// that rank made the folder and nothing was saved there, the destructor removes it. Threads: one.
// Errors: Error("train", ...) if the folder cannot be made, another run has the lock, or a
// checkpoint of this run could replace or remove what is there.
#pragma once

#include <string>

#include "training/trainer/checkpoint.h"

namespace tandem::apps {

class OutFolder {
 public:
  // path: empty if nothing is saved. resumed: the checkpoint with which the run begins; nullptr for
  // a new run. Checkpoints in the folder must be those of the run that continues. locks: whether
  // this rank does; no rank of an elastic run does, because such a run goes on without any of them.
  // Every rank makes its object before the ranks meet.
  OutFolder(const std::string& path, const training::Checkpoint* resumed, bool locks);
  ~OutFolder();
  OutFolder(const OutFolder&) = delete;
  OutFolder& operator=(const OutFolder&) = delete;

 private:
  void lock();
  void check(const training::Checkpoint* resumed) const;

  std::string path_;
  bool is_made_ = false;
  int descriptor_ = -1;
};

}  // namespace tandem::apps
