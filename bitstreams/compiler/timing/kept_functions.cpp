// SPDX-License-Identifier: Apache-2.0
//
// Words are written before the number of a function's attributes.
#include <algorithm>
#include <cstdlib>
#include <set>

#include "bitstreams/compiler/timing/analysis.h"
#include "bitstreams/compiler/timing/operators.h"

namespace tandem::timing {
namespace {

// "attributes #4 = { cold noinline }".
std::set<int> groups_that_are_not_inlined(const std::string& ir) {
  std::set<int> groups;
  for (size_t at = ir.find("\nattributes #"); at != std::string::npos;
       at = ir.find("\nattributes #", at + 1)) {
    const std::string line = ir.substr(at + 1, ir.find('\n', at + 1) - at - 1);
    if (line.find(" noinline") != std::string::npos) groups.insert(std::atoi(line.c_str() + 12));
  }
  return groups;
}

}  // namespace

bool is_function(const std::string& ir_name, const std::string& name) {
  return ir_name == name || ir_name.starts_with("_Z" + std::to_string(name.size()) + name);
}

std::string keep_functions(const std::string& ir, const std::string& kernel,
                           const std::set<std::string>& inlined) {
  const std::set<int> stay_out = groups_that_are_not_inlined(ir);
  std::string result;
  result.reserve(ir.size() + ir.size() / 64);
  for (size_t begin = 0; begin < ir.size();) {
    const size_t end = std::min(ir.find('\n', begin), ir.size());
    std::string line = ir.substr(begin, end - begin);
    begin = end + 1;
    if (line.starts_with("define ")) {
      const size_t at = line.find('@') + 1;
      const size_t begin_name = line[at] == '"' ? at + 1 : at;
      const std::string name =
          line.substr(begin_name, line.find_first_of("(\"", begin_name) - begin_name);
      const Library library = library_function(name);
      const bool is_stream = library == Library::kStreamRead || library == Library::kStreamWrite ||
                             library == Library::kStreamTest;
      const size_t group = line.rfind(" #");
      if ((is_stream || is_function(name, kernel)) && group != std::string::npos) {
        line.insert(group, " noinline");
      } else if ((library == Library::kWide || inlined.contains(name)) &&
                 group != std::string::npos &&
                 !stay_out.contains(std::atoi(line.c_str() + group + 2))) {
        line.insert(group, " alwaysinline");
      }
    }
    result += line + "\n";
  }
  return result;
}

}  // namespace tandem::timing
