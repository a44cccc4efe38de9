// SPDX-License-Identifier: Apache-2.0
//
// Reads the lines "#define NAME value" of -dM.
#include "bitstreams/compiler/vpp/source_macros.h"

#include <sstream>

#include "bitstreams/compiler/compiler_process.h"
#include "bitstreams/xclbin/whole_file.h"

namespace tandem::vpp {

std::map<std::string, std::string> source_macros(const PreprocessJob& job) {
  const std::string base = job.folder + "/" + job.stem;
  std::vector<std::string> command = {job.compiler};
  command.insert(command.end(), job.flags.begin(), job.flags.end());
  command.insert(command.end(), {"-E", "-dM", base + ".wrapper.cpp", "-o", base + ".macros"});
  xclbin::run_tool(command, job.source + " does not compile");
  std::map<std::string, std::string> macros;
  std::istringstream lines(xclbin::read_text(base + ".macros"));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string define, name, value;
    words >> define >> name;
    std::getline(words >> std::ws, value);
    if (define == "#define" && name.find('(') == std::string::npos) macros[name] = value;
  }
  return macros;
}

}  // namespace tandem::vpp
