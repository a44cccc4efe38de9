// SPDX-License-Identifier: Apache-2.0
//
// A translation unit that includes source and glue is preprocessed, then its own traces are taken
// out of the line markers.
#include "bitstreams/vpp/kernel_source.h"

#include <filesystem>

#include "bitstreams/compiler_process.h"
#include "bitstreams/depfile.h"
#include "bitstreams/whole_file.h"
#include "common/error.h"

namespace tandem::vpp {
namespace {

namespace fs = std::filesystem;

// Stands for the element counts until the scanner knows them.
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

// Drops what stands before the source's first line, so that no message says "included from"; the
// source is called what the user calls it, and the end belongs to the glue.
std::string without_wrapper(const std::string& text, const std::string& wrapper,
                            const std::string& absolute, const std::string& named) {
  const std::string entry = "# 1 " + quoted(absolute) + " 1";
  const size_t begin = text.find("\n" + entry);
  if (begin == std::string::npos) return text;
  std::string result = "# 1 " + quoted(named) + text.substr(begin + 1 + entry.size());
  replace_all(result, " " + quoted(absolute) + " 2", " " + quoted(named) + " 2");
  replace_all(result, " " + quoted(wrapper) + " 2", " \"tandem-glue\" 3");
  replace_all(result, " " + quoted(absolute) + "\n", " " + quoted(named) + "\n");
  return result;
}

}  // namespace

PreprocessedSource preprocess(const PreprocessJob& job) {
  const std::string absolute = fs::absolute(job.source).lexically_normal().string();
  const std::string wrapper = job.folder + "/" + job.stem + ".wrapper.cpp";
  const std::string output = job.folder + "/" + job.stem + ".raw.ii";
  const std::string depfile = job.folder + "/" + job.stem + ".d";
  std::string text = "#include \"" + absolute + "\"\n";
  if (!job.kernel.empty()) {
    text += "#include \"kernel_glue.h\"\nTANDEM_EXPORT_KERNEL(" + job.kernel + ", " +
            std::string(kElementsMark) + ")\n";
  }
  xclbin::write_text(wrapper, text);
  std::vector<std::string> command = {job.compiler};
  command.insert(command.end(), job.flags.begin(), job.flags.end());
  command.insert(command.end(), {"-E", "-MD", "-MF", depfile, wrapper, "-o", output});
  PreprocessedSource result;
  result.messages = xclbin::run_tool(command, job.source + " does not compile");
  result.text = without_wrapper(xclbin::read_text(output), wrapper, absolute, job.source);
  for (const std::string& path : xclbin::parse_depfile(xclbin::read_text(depfile))) {
    if (path != wrapper) result.dependencies.push_back(path);
  }
  return result;
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
