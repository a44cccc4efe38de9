// SPDX-License-Identifier: Apache-2.0
//
// PeerProcess: optimizer_peer.py as a child that does a step when it is asked to.
//
// Ownership: the child ends with the object. Errors: none; a child that is absent or ends says so
// in description(). Threads: one.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>

namespace tandem::bench {

class PeerProcess {
 public:
  PeerProcess(const std::string& python, const std::string& script, std::size_t values,
              int threads) {
    int to_child[2], from_child[2];
    if (python.empty() || ::pipe(to_child) != 0 || ::pipe(from_child) != 0) return;
    child_ = ::fork();
    if (child_ == 0) {
      ::dup2(to_child[0], 0);
      ::dup2(from_child[1], 1);
      for (const int end : {to_child[0], to_child[1], from_child[0], from_child[1]}) ::close(end);
      const std::string count = std::to_string(values), team = std::to_string(threads);
      ::execlp(python.c_str(), python.c_str(), script.c_str(), count.c_str(), team.c_str(),
               nullptr);
      ::_exit(127);
    }
    ::close(to_child[0]);
    ::close(from_child[1]);
    out_ = ::fdopen(to_child[1], "w");
    in_ = ::fdopen(from_child[0], "r");
    const auto first = nlohmann::json::parse(line(), nullptr, false);
    if (first.is_object()) description_ = first;
  }
  ~PeerProcess() {
    if (out_ != nullptr) std::fclose(out_);
    if (in_ != nullptr) std::fclose(in_);
    if (child_ > 0) ::waitpid(child_, nullptr, 0);
  }
  PeerProcess(const PeerProcess&) = delete;
  PeerProcess& operator=(const PeerProcess&) = delete;

  bool present() const { return description_.contains("torch"); }
  // {"torch": ..., "form": ...} or {"absent": ...}
  const nlohmann::json& description() const { return description_; }

  struct Seconds {
    double step = 0, step_and_copy = 0;
  };
  // Nothing if the child has ended.
  std::optional<Seconds> step() {
    if (!present() || std::fputs("step\n", out_) < 0 || std::fflush(out_) != 0) return {};
    const std::string answer = line();
    Seconds seconds;
    std::istringstream words(answer);
    if (!(words >> seconds.step >> seconds.step_and_copy)) return {};
    return seconds;
  }

 private:
  std::string line() {
    std::string text;
    for (int c = std::fgetc(in_); c != EOF && c != '\n'; c = std::fgetc(in_)) {
      text.push_back(static_cast<char>(c));
    }
    return text;
  }

  pid_t child_ = -1;
  std::FILE* out_ = nullptr;
  std::FILE* in_ = nullptr;
  nlohmann::json description_ = {{"absent", "no such Python"}};
};

}  // namespace tandem::bench
