// SPDX-License-Identifier: Apache-2.0
//
// WaveDump: collects the changes of named signals and writes them as a Value Change Dump.
//
// Changes may come in any order; of those of one signal at one time the last one counts. Signals
// begin as unknown (x). Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tandem::apps {

class WaveDump {
 public:
  // `scopes`: from the outermost; their names and `name` are free of blanks. The same signal again
  // gives the same number.
  int signal(const std::vector<std::string>& scopes, const std::string& name, int bits);
  void change(int signal, std::int64_t picoseconds, const std::string& bits);
  void change(int signal, std::int64_t picoseconds, bool value) {
    change(signal, picoseconds, std::string(value ? "1" : "0"));
  }
  // `comment`: one line, for readers of the file.
  std::string text(const std::string& comment) const;

 private:
  struct Scope {
    std::map<std::string, Scope> inner;
    std::vector<int> signals;
  };
  struct Signal {
    std::string name;
    int bits = 1;
  };
  struct Change {
    std::int64_t at = 0;
    int signal = 0;
    std::string value;
  };
  void declare(const Scope& scope, std::string& text) const;
  std::string value_text(int signal, const std::string& value) const;
  Scope root_;
  std::map<std::vector<std::string>, int> numbers_;
  std::vector<Signal> signals_;
  std::vector<Change> changes_;
};

}  // namespace tandem::apps
