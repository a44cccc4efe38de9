// SPDX-License-Identifier: Apache-2.0
//
// Bytes behind an ELF file's end are ignored by loaders: there is the checksum.
#include "tensor/sparse/generated/kernel_cache.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "common/error.h"
#include "common/scratch_folder.h"

namespace tandem::sparse {
namespace {

namespace fs = std::filesystem;

constexpr char kEnding[] = ".so";
constexpr char kUnfinished[] = ".part";
constexpr std::chrono::minutes kAbandoned{10};  // what a process that died has not finished

std::uint64_t hash_of(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

std::string hex(std::uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

bool is_there(const std::string& file) {
  std::error_code code;
  return fs::exists(file, code);
}

// Whether others may put another folder in the place of one above this one.
bool can_be_replaced(const fs::path& folder) {
  for (fs::path at = folder; at.has_relative_path();) {
    at = at.parent_path();
    struct stat info {};
    if (stat(at.c_str(), &info) != 0) return true;
    const bool is_shared = (info.st_mode & (S_IWGRP | S_IWOTH)) != 0;
    if (is_shared && (info.st_mode & S_ISVTX) == 0) return true;
  }
  return false;
}

// Empty, or why libraries of the folder must not be run.
std::string distrust(const std::string& folder) {
  if (folder.empty()) return "there is no folder for compiled kernels; set TANDEM_KERNEL_CACHE";
  std::error_code code;
  fs::create_directories(fs::path(folder).parent_path(), code);
  mkdir(folder.c_str(), 0700);
  struct stat info {};
  if (stat(folder.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) {
    return folder + " cannot be made a folder";
  }
  if (info.st_uid != geteuid() || (info.st_mode & (S_IWGRP | S_IWOTH)) != 0 ||
      can_be_replaced(fs::absolute(folder, code)) || can_be_replaced(fs::canonical(folder, code))) {
    return folder + " may be written to by others, so its kernels are not run";
  }
  return "";
}

// Whether only this user can have written a file.
bool is_own(const std::string& file) {
  struct stat info {};
  return lstat(file.c_str(), &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid() &&
         (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

std::string bytes_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

bool is_whole(const std::string& file) {
  const std::string bytes = bytes_of(file);
  constexpr std::size_t kDigits = 16;
  if (bytes.size() <= kDigits) return false;
  const std::size_t end = bytes.size() - kDigits;
  return bytes.substr(end) == hex(hash_of(bytes.substr(0, end)));
}

// Whether everything came onto the disk.
bool append(const std::string& file, const std::string& text) {
  std::ofstream out(file, std::ios::binary | std::ios::app);
  out << text;
  out.close();
  return out.good();
}

}  // namespace

std::string KernelCache::file_of(const std::string& key, const std::string& source) const {
  return options_.folder + "/" + key + "-" +
         hex(hash_of(options_.compiler.identity() + "\n" + source)) + kEnding;
}

void* KernelCache::load(const std::string& file) {
  if (!is_own(file) || !is_whole(file)) return nullptr;
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) reason_ = dlerror();
  utimensat(AT_FDCWD, file.c_str(), nullptr, 0);  // used now
  return library;
}

bool KernelCache::make(const std::string& file, const std::string& source) {
  const auto begin = std::chrono::steady_clock::now();
  try {
    // Nobody else may enter it, so nobody changes what is compiled.
    const ScratchFolder own("tensor", file + kUnfinished + ".");
    const std::string text = own.path() + "/kernel.cpp", library = own.path() + "/kernel.so";
    reason_ =
        append(text, source) ? options_.compiler.compile(text, library) : "cannot write " + text;
    if (reason_.empty() && !append(library, hex(hash_of(bytes_of(library))))) {
      reason_ = "cannot write " + library;
    }
    if (reason_.empty() && (chmod(library.c_str(), S_IRUSR | S_IWUSR) != 0 ||
                            std::rename(library.c_str(), file.c_str()) != 0)) {
      reason_ = "cannot rename " + library + ": " + std::strerror(errno);
    }
  } catch (const Error& error) {
    reason_ = error.what();
  }
  stats_.compile_s +=
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return reason_.empty();
}

void KernelCache::remove_oldest() {
  struct File {
    fs::file_time_type used;
    std::uintmax_t bytes;
    fs::path path;
  };
  std::vector<File> files;
  std::uintmax_t all = 0;
  std::error_code code;
  for (fs::directory_iterator at(options_.folder, code), end; at != end; at.increment(code)) {
    const std::string name = at->path().filename();
    std::error_code gone;  // meanwhile
    const auto used = at->last_write_time(gone);
    if (gone) continue;
    if (name.find(kUnfinished) != std::string::npos) {
      if (fs::file_time_type::clock::now() - used > kAbandoned) fs::remove_all(at->path(), gone);
      continue;
    }
    if (!name.ends_with(kEnding)) continue;
    const std::uintmax_t bytes = at->file_size(gone);
    if (gone) continue;
    files.push_back({used, bytes, at->path()});
    all += bytes;
  }
  std::ranges::sort(files, {}, &File::used);
  for (const File& file : files) {
    if (all <= options_.most_bytes) return;
    if (fs::remove(file.path, code)) ++stats_.removed;
    all -= file.bytes;
  }
}

void* KernelCache::find(const std::string& key, const std::string& source, const char* symbol) {
  const std::lock_guard lock(mutex_);
  const std::string file = file_of(key, source);
  auto known = libraries_.find(file);
  if (known == libraries_.end()) {
    reason_ = distrust(options_.folder);
    void* library = nullptr;
    if (reason_.empty()) {
      library = load(file);
      if (library != nullptr) {
        ++stats_.loaded;
      } else if (make(file, source)) {
        library = load(file);
        if (library == nullptr) unlink(file.c_str());  // the compiler made something else
        remove_oldest();
        stats_.compiled += library != nullptr ? 1 : 0;
      }
    }
    stats_.failed += library == nullptr ? 1 : 0;
    known = libraries_.emplace(file, library).first;
  }
  if (known->second == nullptr) {
    if (reason_.empty()) reason_ = key + " could not be had before";
    return nullptr;
  }
  void* const function = dlsym(known->second, symbol);
  reason_ = function != nullptr ? "" : file + " has no function " + symbol;
  return function;
}

bool KernelCache::has(const std::string& key, const std::string& source) {
  const std::lock_guard lock(mutex_);
  const std::string file = file_of(key, source);
  const auto known = libraries_.find(file);
  return known != libraries_.end() ? known->second != nullptr : is_there(file);
}

std::string KernelCache::reason() const {
  const std::lock_guard lock(mutex_);
  return reason_;
}

KernelCacheStats KernelCache::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

}  // namespace tandem::sparse
