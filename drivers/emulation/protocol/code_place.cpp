// SPDX-License-Identifier: Apache-2.0
//
// addr2line prints, per address, a line with the address, then two lines (function, file:line) per
// inlined function, innermost first.
#include "emulation/protocol/code_place.h"

#include <dlfcn.h>
#include <elf.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <sstream>

extern char** environ;

namespace tandem::emulation {
namespace {

constexpr int kMostFrames = 48;

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Libraries between a program and the shim.
bool is_runtime(const std::string& module) {
  const std::string name = file_name(module);
  for (const char* begin :
       {"libxrt_", "libxilinxopencl", "libtandem_opencl_layer", "libOpenCL", "libstdc++", "libc.so",
        "libgcc_s", "libpthread", "libboost", "ld-linux"}) {
    if (name.starts_with(begin)) return true;
  }
  return false;
}

bool is_skipped_header(const std::string& file) {
  const std::string name = file_name(file);
  const bool header = name.ends_with(".h") || name.ends_with(".hpp");
  for (const char* begin : {"ap_", "hls_", "tandem_", "kernel_glue", "x_hls_"}) {
    if (header && name.starts_with(begin)) return true;
  }
  for (const char* folder :
       {"/include/xrt/", "/include/experimental/", "/include/CL/", "/glue/opencl_c/"}) {
    if (header && file.find(folder) != std::string::npos) return true;
  }
  return name == "tandem-glue" || file.starts_with("/usr/");
}

// addr2line of binutils 2.40 takes a header's inline function that was not inlined for code of the
// file that includes it. Its name tells.
bool is_library_function(const std::string& mangled) {
  for (const char* begin :
       {"_ZN3xrt", "_ZNK3xrt", "_ZN2cl", "_ZNK2cl", "_ZNSt", "_ZNKSt", "_ZSt"}) {
    if (mangled.starts_with(begin)) return true;
  }
  return false;
}

std::string program_path() {
  char path[sizeof(CodePlace::module)] = {};
  const ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);
  return size > 0 ? path : "";
}

// The module of an address, and the address as its debug information counts.
bool locate(const void* address, std::string& module, uint64_t& offset) {
  Dl_info info{};
  link_map* map = nullptr;
  if (dladdr1(address, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0) return false;
  module = info.dli_fname;
  if (map != nullptr && map->l_name[0] == '\0') {  // the program itself
    static const std::string& program = *new std::string(program_path());
    if (!program.empty()) module = program;
  }
  const auto* const header = static_cast<const Elf64_Ehdr*>(info.dli_fbase);
  const auto at = reinterpret_cast<uint64_t>(address);
  offset = header->e_type == ET_EXEC ? at : at - reinterpret_cast<uint64_t>(info.dli_fbase);
  return true;
}

std::string output_of(const std::vector<std::string>& command) {
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return "";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t process = 0;
  const int code = posix_spawnp(&process, words[0], &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string output;
  char part[4096];
  for (ssize_t count = 1; code == 0 && count != 0;) {
    count = read(ends[0], part, sizeof(part));
    if (count > 0) output.append(part, static_cast<size_t>(count));
    if (count < 0 && errno != EINTR) break;
  }
  close(ends[0]);
  if (code == 0) waitpid(process, nullptr, 0);
  return output;
}

// The functions of numbers by which bits and ranges are set.
bool sets_bits(const std::string& function) {
  for (const char* name : {"set_bit", "put_bits", "put", "insert", "cut_top"}) {
    const size_t at = function.rfind(name);
    if (at == std::string::npos || (at > 0 && function[at - 1] != ':')) continue;
    const size_t end = at + std::strlen(name);
    if (end == function.size() || function[end] == '(' || function[end] == '<') return true;
  }
  return false;
}

SourcePlace first_of_user(const std::string& output) {
  std::istringstream lines(output);
  SourcePlace place;
  for (std::string function, where; std::getline(lines, function);) {
    if (function.starts_with("0x") || !std::getline(lines, where)) continue;
    const size_t colon = where.rfind(':');
    if (colon == std::string::npos || where.starts_with("??")) continue;
    place.file = where.substr(0, colon);
    place.line = std::atoi(where.c_str() + colon + 1);
    if (place.line > 0 && !is_skipped_header(place.file) && !is_library_function(function)) {
      return place;
    }
    place.in_header = true;
    place.changes_part = place.changes_part || sets_bits(function);
  }
  SourcePlace unknown;
  unknown.in_header = place.in_header;
  unknown.changes_part = place.changes_part;
  return unknown;
}

}  // namespace

CodePlace code_place(const std::vector<const void*>& return_addresses) {
  CodePlace place;
  size_t count = 0;
  std::string first;
  for (const void* address : return_addresses) {
    std::string module;
    uint64_t offset = 0;
    if (!locate(address, module, offset) || offset == 0) continue;
    if (count == 0) first = module;
    if (module != first || module.size() >= sizeof(place.module)) continue;
    place.offsets[count++] = offset - 1;  // inside the call
    if (count == std::size(place.offsets)) break;
  }
  std::strncpy(place.module, first.c_str(), sizeof(place.module) - 1);
  return place;
}

bool is_runtime_code(const void* address) {
  std::string module;
  uint64_t offset = 0;
  return !locate(address, module, offset) || is_runtime(module);
}

CodePlace program_place(const std::vector<const void*>& return_addresses) {
  std::vector<const void*> users;
  for (const void* address : return_addresses) {
    if (!is_runtime_code(address)) users.push_back(address);
  }
  return code_place(users);
}

CodePlace caller_place() {
  void* frames[kMostFrames];
  const int count = backtrace(frames, kMostFrames);
  return program_place(std::vector<const void*>(frames, frames + count));
}

SourcePlace place_of(const CodePlace& place) {
  if (place.module[0] == '\0' || place.offsets[0] == 0) return {};
  std::vector<std::string> command = {"addr2line", "-a", "-i", "-f", "-e", place.module};
  std::string key = place.module;
  for (const uint64_t offset : place.offsets) {
    if (offset == 0) break;
    char text[32];
    std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(offset));
    command.emplace_back(text);
    key += std::string(" ") + text;
  }
  static std::mutex mutex;
  static auto& known = *new std::map<std::string, SourcePlace>;
  const std::lock_guard<std::mutex> lock(mutex);
  const auto found = known.find(key);
  if (found != known.end()) return found->second;
  return known[key] = first_of_user(output_of(command));
}

}  // namespace tandem::emulation
