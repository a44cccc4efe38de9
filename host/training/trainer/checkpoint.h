// SPDX-License-Identifier: Apache-2.0
//
// Checkpoints: folders OUT/step-00000100, each complete and on the disk or not there; OUT/latest
// names the newest.
//
// A CheckpointWriter collects files in a folder of its own. seal() adds checkpoint.json with every
// file's size and XXH64, and syncs all; publish() renames. What it replaces stays until then.
// Several processes may write files; one seals and publishes. find_checkpoint() verifies sizes and
// sums before anything is used. Threads: one. Errors: Error("train", ...) naming the file and the
// system's reason, such as a full disk; the destructor removes what was not published.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

namespace tandem::training {

class CheckpointWriter {
 public:
  static std::string folder(const std::string& out, std::uint64_t step);

  // Also removes what writers that were killed have left in `out`.
  CheckpointWriter(std::string out, std::uint64_t step);
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  // Where the files go. No other writer, also of another process, has the same.
  const std::string& files() const { return folder_; }
  void seal(nlohmann::ordered_json fields);
  // keep: of the newest checkpoints, this one included; others are removed. 0: all stay.
  void publish(int keep);

 private:
  std::string out_, folder_;
  std::uint64_t step_;
};

struct Checkpoint {
  std::string folder;
  nlohmann::json fields;  // of checkpoint.json

  std::string file(const std::string& name) const { return folder + "/" + name; }
};

// The folder of the newest checkpoint in `path`; `path` itself where it is one or has none.
std::string newest_folder(const std::string& path);

// path: a folder with `latest`, or one checkpoint's folder.
Checkpoint find_checkpoint(const std::string& path);

// Whole files, synced; the file is removed if the disk is full.
void write_bytes(const std::string& path, std::span<const std::byte> bytes);
std::vector<std::byte> read_bytes(const std::string& path);

// A safetensors file of f32 tensors.
struct StoredTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  std::span<const float> values;
};
void write_tensors(const std::string& path, const std::vector<StoredTensor>& tensors);
// Fills the values of the tensors named; Error where the file has others, or other shapes.
struct WantedTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  std::span<float> values;  // all, or a part of them
  std::uint64_t first = 0;  // of that part
};
void read_tensors(const std::string& path, const std::vector<WantedTensor>& tensors);

// The same file, written by several processes: one creates it, each fills in its parts.
struct TensorPlace {
  std::string name;
  std::vector<std::int64_t> shape;
};
struct TensorPart {
  std::string name;
  std::uint64_t first = 0;  // value of the tensor
  std::span<const float> values;
};
void create_tensors(const std::string& path, const std::vector<TensorPlace>& tensors);
void write_parts(const std::string& path, const std::vector<TensorPart>& parts);

}  // namespace tandem::training
