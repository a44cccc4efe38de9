// SPDX-License-Identifier: Apache-2.0
//
// Starts the compiler with posix_spawn in its own process group. A pipe takes its output; the first
// lines become part of the error.
#include "bitstreams/compiler/compiler_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "bitstreams/xclbin/interruption.h"
#include "common/error.h"

extern char** environ;

namespace tandem::xclbin {
namespace {

constexpr size_t kMaxQuotedOutput = 8000;

std::string join(const std::vector<std::string>& command) {
  std::string line;
  for (const std::string& word : command) line += (line.empty() ? "" : " ") + word;
  return line;
}

std::string drain(int descriptor) {
  std::string output;
  char buffer[4096];
  for (;;) {
    const ssize_t count = read(descriptor, buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return output;
    output.append(buffer, static_cast<size_t>(count));
  }
}

// The command's group is its own, so that all of it can be ended; no signal is blocked in it.
int start(std::vector<char*>& arguments, const posix_spawn_file_actions_t& actions,
          pid_t& process) {
  posix_spawnattr_t attributes;
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setsigmask(&attributes, &none);
  const int code =
      posix_spawnp(&process, arguments[0], &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  return code;
}

}  // namespace

std::string run_tool(const std::vector<std::string>& command, const std::string& failure) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw Error("v++", "cannot make a pipe for the compiler");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
  pid_t process = 0;
  int code = 0;
  const EndedOnInterruption guard([&] {
    code = start(arguments, actions, process);
    return code == 0 ? process : 0;
  });
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  const std::string output = code == 0 ? drain(ends[0]) : "";
  close(ends[0]);
  if (code != 0) {
    throw Error("v++", "cannot start '" + command[0] + "': " + std::strerror(code) +
                           "; install g++ or name another compiler");
  }
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return output;
  throw Error("v++", failure + ":\n" + output.substr(0, kMaxQuotedOutput) + "\n" + join(command));
}

void join_objects(const std::vector<std::string>& objects, const std::string& joined,
                  const std::string& failure) {
  std::vector<std::string> command = {"ld", "-r", "--force-group-allocation", "-o", joined};
  command.insert(command.end(), objects.begin(), objects.end());
  run_tool(command, failure);
}

bool accepts_flag(const std::string& compiler, const std::string& flag) {
  return accepts_flags(compiler, {flag});
}

bool accepts_flags(const std::string& compiler, const std::vector<std::string>& flags) {
  std::vector<std::string> command = {compiler};
  command.insert(command.end(), flags.begin(), flags.end());
  command.insert(command.end(), {"-fsyntax-only", "-x", "c++", "/dev/null"});
  try {
    run_tool(command, "");
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace tandem::xclbin
