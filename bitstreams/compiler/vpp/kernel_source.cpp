// SPDX-License-Identifier: Apache-2.0
//
// Preprocesses a translation unit that includes glue and source, then removes its own lines from
// the line markers.
#include "bitstreams/compiler/vpp/kernel_source.h"

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "bitstreams/compiler/compiler_process.h"
#include "bitstreams/compiler/depfile.h"
#include "bitstreams/xclbin/whole_file.h"
#include "common/error.h"

namespace tandem::vpp {
namespace {

namespace fs = std::filesystem;

// A placeholder for the element counts until the scanner knows them.
constexpr std::string_view kElementsMark = "tandem_register_elements";

std::string quoted(const std::string& path) {
  std::string out = "\"";
  for (char c : path) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

// Removes the compiler's own lines before the glue. The source gets the name that the user gave it
// and no marker of an include, so that no message says "included from". The end belongs to the
// glue.
std::string without_wrapper(const std::string& text, const std::string& wrapper,
                            const std::string& absolute, const std::string& named) {
  const std::string entry = "# 1 " + quoted(absolute) + " 1";
  const size_t begin = text.find("\n" + entry);
  if (begin == std::string::npos) return text;
  std::string head = text.substr(0, begin + 1);
  const size_t glue = head.find("/kernel_glue.h\" 1");
  head.erase(0, glue == std::string::npos ? head.size() : head.rfind('\n', glue) + 1);
  replace_all(head, " " + quoted(wrapper), " " + quoted(named));
  std::string result = "# 1 " + quoted(named) + text.substr(begin + 1 + entry.size());
  replace_all(result, " " + quoted(absolute) + " 2", " " + quoted(named) + " 2");
  replace_all(result, " " + quoted(absolute) + "\n", " " + quoted(named) + "\n");
  replace_all(result, " " + quoted(wrapper) + " 2", " \"tandem-glue\" 3");
  replace_all(result, " " + quoted(wrapper) + "\n", " \"tandem-glue\" 3\n");
  return "# 1 " + quoted(named) + "\n" + head + result;
}

// Errors in a macro of the command line must not name a file that the user does not know.
std::string run_preprocessor(const std::vector<std::string>& command, const std::string& wrapper,
                             const std::string& source) {
  const std::string known = wrapper + ":";
  const std::string shown = "<command-line>:";
  try {
    std::string messages = xclbin::run_tool(command, source + " does not compile");
    replace_all(messages, known, shown);
    return messages;
  } catch (const Error& error) {
    std::string message = error.what();
    replace_all(message, known, shown);
    throw std::runtime_error(message);
  }
}

}  // namespace

PreprocessedSource preprocess(const PreprocessJob& job) {
  const std::string absolute = fs::absolute(job.source).lexically_normal().string();
  const std::string wrapper = job.folder + "/" + job.stem + ".wrapper.cpp";
  const std::string output = job.folder + "/" + job.stem + ".raw.ii";
  const std::string depfile = job.folder + "/" + job.stem + ".d";
  std::string text = job.kernel.empty() ? "" : "#include \"kernel_glue.h\"\n";
  for (const std::string& line : job.macros) text += line + "\n";
  text += "#include \"" + absolute + "\"\n";
  if (!job.kernel.empty()) {
    text += "TANDEM_EXPORT_KERNEL(" + job.kernel + ", " + std::string(kElementsMark) + ")\n";
  }
  xclbin::write_text(wrapper, text);
  std::vector<std::string> command = {job.compiler};
  command.insert(command.end(), job.flags.begin(), job.flags.end());
  command.insert(command.end(), {"-E", "-MD", "-MF", depfile, wrapper, "-o", output});
  PreprocessedSource result;
  result.messages = run_preprocessor(command, wrapper, job.source);
  result.text = without_wrapper(xclbin::read_text(output), wrapper, absolute, job.source);
  for (const std::string& path : xclbin::parse_depfile(xclbin::read_text(depfile))) {
    if (path != wrapper) result.dependencies.push_back(path);
  }
  return result;
}

std::vector<std::string> take_macros(std::vector<std::string>& flags) {
  std::vector<std::string> macros;
  std::vector<std::string> kept;
  for (size_t index = 0; index < flags.size(); ++index) {
    const std::string& flag = flags[index];
    const std::string kind = flag.substr(0, 2);
    const bool has_word = flag.size() == 2 && index + 1 < flags.size();
    const std::string text =
        has_word ? flags[index + 1] : flag.substr(std::min<size_t>(2, flag.size()));
    if ((kind != "-D" && kind != "-U") || text.empty() || text[0] == '_' ||
        text.starts_with("TANDEM_")) {
      kept.push_back(flag);
      continue;
    }
    if (has_word) ++index;
    const size_t equals = text.find('=');
    if (kind == "-U") {
      macros.push_back("#undef " + text);
    } else if (equals == std::string::npos) {
      macros.push_back("#define " + text + " 1");
    } else {
      macros.push_back("#define " + text.substr(0, equals) + " " + text.substr(equals + 1));
    }
  }
  flags = std::move(kept);
  return macros;
}

std::string with_register_elements(std::string text, const std::vector<std::string>& elements) {
  std::string list;
  for (const std::string& count : elements) {
    list += (list.empty() ? "(" : ", (") + (count.empty() ? "0" : count) + ")";
  }
  const size_t at = text.rfind(kElementsMark);
  if (at == std::string::npos) return text;
  return text.replace(at, kElementsMark.size(), list.empty() ? "0" : list);
}

}  // namespace tandem::vpp
