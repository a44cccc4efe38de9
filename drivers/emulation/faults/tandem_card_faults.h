// SPDX-License-Identifier: Apache-2.0
//
// Faults of emulated cards for tests: an object, a script of faults, and what was injected.
//
//   tandem::CardFaults faults("launch 2 die");
//   ... the program under test; faults.injected() ...
//
// The script's words are in FAULTS.md. While an object lives its script takes the place of
// TANDEM_FAULTS; events are counted from its construction. The destructor ends the script, and what
// lasts with it: cards answer again. One object at a time. Link with -ldl where libc needs it.
// Threads: any. Errors: std::invalid_argument naming line and field of the script;
// std::runtime_error when XILINX_XRT has no emulated cards.
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

  // The injected faults in order, each a statement of a script that injects it again.
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

  // The names XRT loads the library by are links to one file, so this is the loaded one.
  template <typename Function>
  static Function* function(const char* name) {
    const char* const tree = std::getenv("XILINX_XRT");
    const std::string path = std::string(tree == nullptr ? "" : tree) + "/lib/libxrt_core.so.2";
    void* const library = dlopen(path.c_str(), RTLD_NOW);
    void* const found = library == nullptr ? nullptr : dlsym(library, name);
    if (found == nullptr) {
      throw std::runtime_error(path + " is no library of emulated cards; source their setup.sh");
    }
    return reinterpret_cast<Function*>(found);
  }
};

}  // namespace tandem
