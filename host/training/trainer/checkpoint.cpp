// SPDX-License-Identifier: Apache-2.0
//
// The rename of a synced folder is the instant at which a checkpoint exists; `latest` follows by a
// rename of its own. A crash between the two leaves a complete checkpoint that `latest` does not
// name yet. A checkpoint of the same step changes places with its folder in one instant, too.
#include "training/trainer/checkpoint.h"

#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <utility>

#include "common/error.h"
#include "training/trainer/file_sync.h"

namespace tandem::training {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFields = "checkpoint.json";
constexpr const char* kLatest = "latest";
constexpr const char* kFormat = "tandem-checkpoint-1";
constexpr const char* kPrefix = "step-";
constexpr std::streamsize kPieceBytes = 1 << 20;

std::string step_name(std::uint64_t step) {
  char name[40];
  std::snprintf(name, sizeof(name), "%s%08llu", kPrefix, static_cast<unsigned long long>(step));
  return name;
}

std::string sum_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> piece(kPieceBytes);
  const std::unique_ptr<XXH64_state_t, XXH_errorcode (*)(XXH64_state_t*)> state(XXH64_createState(),
                                                                                XXH64_freeState);
  XXH64_reset(state.get(), 0);
  while (file) {
    file.read(piece.data(), kPieceBytes);
    XXH64_update(state.get(), piece.data(), static_cast<std::size_t>(file.gcount()));
  }
  if (!file.eof()) throw Error("train", "cannot read '" + path + "': " + std::strerror(errno));
  char text[20];
  std::snprintf(text, sizeof(text), "%016llx",
                static_cast<unsigned long long>(XXH64_digest(state.get())));
  return text;
}

nlohmann::ordered_json list_files(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  nlohmann::ordered_json files = nlohmann::ordered_json::object();
  for (const std::string& name : names) {
    const std::string path = folder + "/" + name;
    sync_file(path);
    files[name] = {{"bytes", fs::file_size(path)}, {"xxh64", sum_of(path)}};
  }
  return files;
}

void write_text(const std::string& path, const std::string& text) {
  write_bytes(path, std::as_bytes(std::span(text)));
}

void remove_older(const std::string& out, const std::string& newest, int keep) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(out)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kPrefix) && name <= newest) names.push_back(name);
  }
  std::ranges::sort(names);
  const std::size_t kept = static_cast<std::size_t>(keep);
  std::error_code ignored;  // files that cannot be removed only use space
  for (std::size_t at = 0; at + kept < names.size(); ++at) {
    const std::string aside = out + "/." + names[at] + ".removed";  // never seen in part
    fs::rename(out + "/" + names[at], aside, ignored);
    fs::remove_all(aside, ignored);
  }
}

// Files that were being written or removed when a process was killed.
void remove_leftovers(const std::string& out) {
  std::error_code ignored;
  std::string hidden(1, '.');
  hidden += kPrefix;
  std::vector<fs::path> leftovers;
  for (const auto& entry : fs::directory_iterator(out, ignored)) {
    if (entry.path().filename().string().starts_with(hidden)) {
      leftovers.push_back(entry.path());
    }
  }
  for (const fs::path& leftover : leftovers) fs::remove_all(leftover, ignored);
}

// `to` gets the content of `from`; an earlier `to` may then be at `from`.
void move_into_place(const std::string& from, const std::string& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) == 0) return;
  std::error_code error;
  if (errno != ENOENT) {  // a file system that cannot exchange
    const std::string aside = from + ".replaced";
    fs::rename(to, aside, error);
  }
  fs::rename(from, to, error);
  if (error) throw Error("train", "cannot write '" + to + "': " + error.message());
}

// Used if `latest` or its folder was removed. "": there is no checkpoint.
std::string newest(const std::string& out) {
  std::string found;
  for (const auto& entry : fs::directory_iterator(out)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kPrefix) && fs::exists(entry.path() / kFields)) {
      found = std::max(found, name);
    }
  }
  return found;
}

std::string writer_name(const std::string& out, std::uint64_t step) {
  std::random_device random;
  char name[80];
  std::snprintf(name, sizeof(name), "/.%s.partial-%08x%08x", step_name(step).c_str(), random(),
                random());
  return out + name;
}

void verify(const Checkpoint& checkpoint) {
  const auto files = checkpoint.fields.at("files").get<nlohmann::json::object_t>();
  if (files.empty()) {
    throw Error("train", "'" + checkpoint.file(kFields) +
                             "' lists no files, so nothing can be verified; resume from another "
                             "checkpoint");
  }
  for (const auto& [name, entry] : files) {
    const std::string path = checkpoint.file(name);
    std::error_code error;
    const std::uintmax_t size = fs::file_size(path, error);
    if (error) throw Error("train", "the checkpoint lacks '" + path + "'; resume from another one");
    if (size != entry.at("bytes").get<std::uintmax_t>()) {
      throw Error("train", "'" + path + "' has " + std::to_string(size) + " bytes, not the " +
                               entry.at("bytes").dump() +
                               " that were written; resume from another checkpoint");
    }
    if (sum_of(path) != entry.at("xxh64").get<std::string>()) {
      throw Error("train", "'" + path +
                               "' is not what was written (its checksum differs); "
                               "resume from another checkpoint");
    }
  }
}

}  // namespace

std::string CheckpointWriter::folder(const std::string& out, std::uint64_t step) {
  return out + "/" + step_name(step);
}

CheckpointWriter::CheckpointWriter(std::string out, std::uint64_t step)
    : out_(std::move(out)), folder_(writer_name(out_, step)), step_(step) {
  std::error_code error;
  fs::create_directories(out_, error);
  remove_leftovers(out_);
  if (!fs::create_directory(folder_, error)) {
    throw Error("train", "cannot make the folder '" + folder_ + "': " + error.message());
  }
}

CheckpointWriter::~CheckpointWriter() {
  std::error_code ignored;
  if (!folder_.empty()) fs::remove_all(folder_, ignored);
}

void CheckpointWriter::seal(nlohmann::ordered_json fields) {
  fields["format"] = kFormat;
  fields["step"] = step_;
  fields["files"] = list_files(folder_);
  write_text(folder_ + "/" + kFields, fields.dump(1) + "\n");
  sync_folder(folder_);
}

void CheckpointWriter::publish(int keep) {
  const std::string name = step_name(step_), written = std::exchange(folder_, {});
  std::error_code error;
  try {
    move_into_place(written, out_ + "/" + name);
    sync_folder(out_);
    const std::string next = out_ + "/." + kLatest + ".partial";
    write_text(next, name + "\n");
    fs::rename(next, out_ + "/" + kLatest, error);
    if (error) throw Error("train", "cannot write '" + out_ + "/latest': " + error.message());
    sync_folder(out_);
  } catch (...) {
    remove_leftovers(out_);
    throw;
  }
  remove_leftovers(out_);
  if (keep > 0) remove_older(out_, name, keep);
}

std::string Checkpoint::file(const std::string& name) const {
  if (name != kFields && fields.contains("files") && !fields["files"].contains(name)) {
    throw Error("train", "'" + folder + "/" + kFields + "' does not list '" + name +
                             "', so it is not verified; resume from another checkpoint");
  }
  return folder + "/" + name;
}

std::string newest_folder(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error) || fs::exists(path + "/" + kFields)) return path;
  std::ifstream latest(path + "/" + kLatest);
  std::string name;
  latest >> name;
  if (name.empty() || !fs::exists(path + "/" + name)) name = newest(path);
  return name.empty() ? path : path + "/" + name;
}

Checkpoint find_checkpoint(const std::string& path) {
  Checkpoint checkpoint;
  checkpoint.folder = newest_folder(path);
  const std::string file = checkpoint.file(kFields);
  std::ifstream in(file);
  if (!in) {
    throw Error("train", "'" + path + "' has no checkpoint ('" + file + "' cannot be read)");
  }
  try {
    checkpoint.fields = nlohmann::json::parse(in);
    if (checkpoint.fields.at("format") != kFormat) {
      throw Error("train",
                  "'" + file + "' has another format: " + checkpoint.fields.at("format").dump());
    }
    if (!checkpoint.fields.at("step").is_number_unsigned()) {
      throw Error("train", "'" + file + "': field 'step' is " + checkpoint.fields["step"].dump() +
                               ", no number from 0; resume from another checkpoint");
    }
    verify(checkpoint);
  } catch (const nlohmann::json::exception& error) {
    throw Error("train",
                "'" + file + "' is damaged (" + error.what() + "); resume from another checkpoint");
  }
  return checkpoint;
}

}  // namespace tandem::training
