// SPDX-License-Identifier: Apache-2.0
//
// Line by line: function definitions, the names their bodies mention, metadata nodes.
#include "bitstreams/compiler/opencl_c/signature.h"

#include <cctype>
#include <cstdlib>
#include <set>
#include <sstream>

#include "common/error.h"

namespace tandem::opencl_c {
namespace {

bool in_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '$';
}

// The global name at `at`, which is its '@'.
std::string name_at(const std::string& line, size_t at) {
  if (at + 1 < line.size() && line[at + 1] == '"') {
    const size_t end = line.find('"', at + 2);
    return end == std::string::npos ? "" : line.substr(at + 2, end - at - 2);
  }
  size_t end = at + 1;
  while (end < line.size() && in_name(line[end])) ++end;
  return line.substr(at + 1, end - at - 1);
}

// The strings and numbers of a metadata node, "!{!\"a\", i32 1}", without their quotes and types.
std::vector<std::string> node_values(const std::string& node) {
  std::vector<std::string> values;
  for (size_t at = 0; at < node.size(); ++at) {
    if (node[at] == '"') {
      const size_t end = node.find('"', at + 1);
      if (end == std::string::npos) break;
      values.push_back(node.substr(at + 1, end - at - 1));
      at = end;
    } else if (node.compare(at, 4, "i32 ") == 0) {
      values.push_back(std::to_string(std::strtol(node.c_str() + at + 4, nullptr, 10)));
      at += 3;
    }
  }
  return values;
}

struct Function {
  std::set<std::string> mentions;
  std::map<std::uint32_t, bool> pipes;
  std::map<std::string, std::string> metadata;  // kind to node, "!13"
  bool kernel = false;
};

class Reader {
 public:
  Reader(const std::string& text, const std::string& file) : file_(file) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) read(line);
  }

  ModuleDescription describe() {
    ModuleDescription module;
    for (const std::string& name : order_) {
      if (functions_[name].kernel) module.kernels.push_back(signature(name));
    }
    module.pipe_bytes = pipe_bytes_;
    return module;
  }

 private:
  void read(const std::string& line) {
    if (line.starts_with("define ")) {
      define(line);
    } else if (line.starts_with("}")) {
      current_ = nullptr;
    } else if (line.starts_with("!")) {
      const size_t equals = line.find(" = ");
      if (equals != std::string::npos) nodes_[line.substr(0, equals)] = line.substr(equals + 3);
    } else if (line.starts_with("@tandem_cl_pipe_bytes_")) {
      const size_t value = line.find("i32 ");
      if (value != std::string::npos) {
        pipe_bytes_.push_back(
            static_cast<std::uint32_t>(std::strtoul(line.c_str() + value + 4, nullptr, 10)));
      }
    } else if (current_ != nullptr) {
      mention(line);
    }
  }

  void define(const std::string& line) {
    const size_t at = line.find('@');
    if (at == std::string::npos) return;
    const std::string name = name_at(line, at);
    current_ = &functions_[name];
    order_.push_back(name);
    for (size_t from = line.find(" !"); from != std::string::npos;
         from = line.find(" !", from + 1)) {
      const size_t blank = line.find(' ', from + 2);
      if (blank == std::string::npos) break;
      const std::string kind = line.substr(from + 2, blank - from - 2);
      const size_t end = line.find(' ', blank + 1);
      if (line.compare(blank + 1, 1, "!") != 0) continue;
      current_->metadata[kind] = line.substr(blank + 1, end - blank - 1);
    }
    current_->kernel = current_->metadata.contains("kernel_arg_type");
  }

  void mention(const std::string& line) {
    for (size_t at = line.find('@'); at != std::string::npos; at = line.find('@', at + 1)) {
      const std::string name = name_at(line, at);
      current_->mentions.insert(name);
      const bool writes = name.starts_with("tandem_cl_pipe_write");
      if (!writes && !name.starts_with("tandem_cl_pipe_read")) continue;
      pipe_use(line.substr(line.find('(', at)), writes);
    }
  }

  // "(i32 noundef 2, ...": which pipe a call is about.
  void pipe_use(const std::string& arguments, bool writes) {
    const size_t end = arguments.find(',');
    const size_t blank = arguments.rfind(' ', end);
    const std::string number =
        blank == std::string::npos ? "" : arguments.substr(blank + 1, end - blank - 1);
    if (number.empty() || std::isdigit(static_cast<unsigned char>(number[0])) == 0) {
      throw Error("opencl_c", file_ + ": a pipe is read and written under its own name");
    }
    current_->pipes[static_cast<std::uint32_t>(std::stoul(number))] = writes;
  }

  std::vector<std::string> values(const Function& function, const std::string& kind) const {
    const auto reference = function.metadata.find(kind);
    if (reference == function.metadata.end()) return {};
    const auto node = nodes_.find(reference->second);
    return node == nodes_.end() ? std::vector<std::string>{} : node_values(node->second);
  }

  KernelSignature signature(const std::string& name) {
    const Function& function = functions_[name];
    KernelSignature kernel;
    kernel.name = name;
    const auto names = values(function, "kernel_arg_name");
    const auto types = values(function, "kernel_arg_type");
    const auto spaces = values(function, "kernel_arg_addr_space");
    if (names.size() != types.size() || spaces.size() != types.size()) {
      throw Error("opencl_c",
                  file_ + ": clang's output lists no arguments of kernel '" + name + "'");
    }
    for (size_t index = 0; index < types.size(); ++index) {
      kernel.arguments.push_back(
          {names[index], types[index], static_cast<AddressSpace>(std::stoul(spaces[index]))});
    }
    const auto group = values(function, "reqd_work_group_size");
    for (size_t index = 0; index < group.size() && index < 3; ++index) {
      kernel.required_group[index] = static_cast<std::uint32_t>(std::stoul(group[index]));
    }
    std::set<std::string> seen;
    follow(name, seen, kernel);
    return kernel;
  }

  void follow(const std::string& name, std::set<std::string>& seen, KernelSignature& kernel) {
    if (!seen.insert(name).second) return;
    kernel.uses_work_items |=
        name == "tandem_cl_current" || name == "tandem_cl_barrier" || name == "tandem_cl_copy";
    const auto function = functions_.find(name);
    if (function == functions_.end()) return;
    for (const auto& [pipe, writes] : function->second.pipes) kernel.pipes[pipe] = writes;
    for (const std::string& next : function->second.mentions) follow(next, seen, kernel);
  }

  const std::string& file_;
  std::map<std::string, Function> functions_;
  std::vector<std::string> order_;
  std::map<std::string, std::string> nodes_;
  std::vector<std::uint32_t> pipe_bytes_;
  Function* current_ = nullptr;
};

}  // namespace

ModuleDescription describe_module(const std::string& llvm_text, const std::string& file) {
  return Reader(llvm_text, file).describe();
}

}  // namespace tandem::opencl_c
