// SPDX-License-Identifier: Apache-2.0
//
// CardFaults: fault injection for tests: an object injects a fault script, and lists the injected
// faults.
//
//   tandem::CardFaults faults("launch 2 die");
//   ... the program under test; faults.injected() ...
// FAULTS.md explains the words of scripts. While an object exists, its script replaces
// TANDEM_FAULTS; events are counted from its construction. The destructor ends the script and its
// lasting faults: cards answer again. One object at a time. Link with -ldl if libc needs it.
// Threads: any. Errors: std::invalid_argument with line and field of the script; std::runtime_error
// if XILINX_XRT has no emulated cards.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace tandem {

class CardFaults {
 public:
  explicit CardFaults(const std::string& script) {
    char problem[1024];
    if (function<Begin>("tandem_card_faults_begin")(script.c_str(), problem, sizeof(problem)) !=
        0) {
      throw std::invalid_argument(problem);
    }
  }
  ~CardFaults() { function<End>("tandem_card_faults_end")(); }
  CardFaults(const CardFaults&) = delete;
  CardFaults& operator=(const CardFaults&) = delete;

  // The injected faults in order. Each is a statement of a script that repeats it.
  std::vector<std::string> injected() const {
    const auto read = function<Read>("tandem_card_faults_read");
    std::string text(read(nullptr, 0), '\0');
    text.resize(read(&text[0], text.size()));
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }

 private:
  using Begin = int(const char* script, char* problem, std::size_t capacity);
  using End = void();
  using Read = std::size_t(char* text, std::size_t capacity);

  // All names by which XRT loads the library are links to one file, so this is the loaded one.
  template <typename Function>
  static Function* function(const char* name) {
    const char* const tree = std::getenv("XILINX_XRT");
    const std::string path = std::string(tree == nullptr ? "" : tree) + "/lib/libxrt_core.so.2";
    void* const library = dlopen(path.c_str(), RTLD_NOW);
    void* const found = library == nullptr ? nullptr : dlsym(library, name);
    if (found == nullptr) {
      throw std::runtime_error(path + " is not a library of emulated cards; source their setup.sh");
    }
    return reinterpret_cast<Function*>(found);
  }
};

}  // namespace tandem
