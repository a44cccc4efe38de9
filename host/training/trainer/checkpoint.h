// SPDX-License-Identifier: Apache-2.0
//
// Checkpoints: folders OUT/step-00000100, each either complete and on disk, or absent. OUT/latest
// names the newest.
//
// A CheckpointWriter collects files in its own folder. seal() adds checkpoint.json with the size
// and XXH64 of every file, and syncs everything; publish() renames the folder. An older checkpoint
// of the same step remains until then. Several processes may write files; one of them seals and
// publishes. find_checkpoint() verifies sizes and checksums first. Threads: one. Errors:
// Error("train", ...) with the file and the system's reason, such as a full disk; the destructor
// removes unpublished files.
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

  // Also removes the files that killed writers left in `out`.
  CheckpointWriter(std::string out, std::uint64_t step);
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  // The folder of the files. No other writer, not even in another process, uses the same.
  const std::string& files() const { return folder_; }
  void seal(nlohmann::ordered_json fields);
  // keep: the number of newest checkpoints to keep, including this one; others are removed. 0: all
  // stay.
  void publish(int keep);

 private:
  std::string out_, folder_;
  std::uint64_t step_;
};

struct Checkpoint {
  std::string folder;
  nlohmann::json fields;  // the fields of checkpoint.json

  // Returns the path of a file. Throws Error if checkpoint.json does not list it, because it is not
  // verified.
  std::string file(const std::string& name) const;
};

// The folder of the newest checkpoint in `path`; `path` itself if it is a checkpoint or contains
// none.
std::string newest_folder(const std::string& path);

// path: a folder with `latest`, or the folder of one checkpoint.
Checkpoint find_checkpoint(const std::string& path);

// Write and read whole files, synced. On failure, such as a full disk, the file is removed.
void write_bytes(const std::string& path, std::span<const std::byte> bytes);
std::vector<std::byte> read_bytes(const std::string& path);

// A safetensors file of f32 tensors.
struct StoredTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  std::span<const float> values;
};
void write_tensors(const std::string& path, const std::vector<StoredTensor>& tensors);
// Reads the named tensors. Throws Error if the file has other names or shapes.
struct WantedTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  std::span<float> values;  // all values, or a part of them
  std::uint64_t first = 0;  // index of the first value of that part
};
void read_tensors(const std::string& path, const std::vector<WantedTensor>& tensors);

// The same file, written by several processes: one creates it, and each writes its parts.
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
