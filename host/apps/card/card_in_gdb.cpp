// SPDX-License-Identifier: Apache-2.0
//
// The library of the kernel is loaded after the start, so the breakpoint is a pending one.
#include "apps/card/card_in_gdb.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "common/error.h"

namespace tandem::apps {
namespace {

namespace fs = std::filesystem;

bool is_installed(const std::string& program) {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (access((folder + "/" + program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

}  // namespace

std::string gdb_place_problem(const std::string& place) {
  const bool is_plain = std::all_of(place.begin(), place.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string("_:./-+").find(static_cast<char>(c)) != std::string::npos;
  });
  if (!place.empty() && is_plain && place[0] != '-') return "";
  return "'" + place + "' is neither a kernel's name nor FILE:LINE";
}

// Signals by which a card ends kernels do not stop it.
std::string card_in_gdb_script(const std::string& place, bool with_source) {
  std::string text =
      "#!/bin/sh\nexec gdb -q -iex 'set breakpoint pending on' -iex 'set debuginfod enabled off'";
  text += " -iex 'set pagination off' -iex 'set confirm off'";
  text += " -ex 'handle SIG40 nostop noprint pass' -ex 'break " + place + "' -ex run";
  if (with_source) text += " -ex 'layout src'";
  return text + " --args \"$XILINX_XRT/bin/tandem-card\" \"$@\"\n";
}

void start_cards_in_gdb(CommandOnCards& command, const std::string& place,
                        const ScratchFolder& folder) {
  if (!is_installed("gdb")) {
    throw Error("card", "--gdb needs gdb, which is not on the path: apt-get install gdb");
  }
  const bool is_terminal = isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0;
  const std::string path = folder.path() + "/card-in-gdb";
  std::ofstream out(path);
  out << card_in_gdb_script(place, is_terminal);
  out.close();
  std::error_code failed;
  fs::permissions(path, fs::perms::owner_all, failed);
  if (!out || failed) throw Error("card", "--gdb: cannot write '" + path + "'");
  command.environment["TANDEM_CARD_EXECUTABLE"] = path;
  if (std::getenv("TANDEM_CHECKS") == nullptr) command.environment["TANDEM_CHECKS"] = "none";
}

}  // namespace tandem::apps
