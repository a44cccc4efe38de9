// SPDX-License-Identifier: Apache-2.0
//
// A variable begins at the mark of its lifetime; without one, at its allocation.
#include "bitstreams/compiler/opencl_c/value_marks.h"

#include <cstdlib>
#include <map>
#include <sstream>
#include <utility>

#include "bitstreams/compiler/opencl_c/ir_lines.h"

namespace tandem::opencl_c {
namespace {

constexpr const char* kNoValueType = "[128 x i8]";
constexpr unsigned long kMostCopied = 128;

bool is_aggregate(std::string_view type) {
  return !type.ends_with('*') && (type.starts_with('[') || type.starts_with('{') ||
                                  type.starts_with('%') || type.starts_with("<{"));
}

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
}

class ValueMarker {
 public:
  explicit ValueMarker(const std::string& ir) : ir_(ir), opaque_(has_opaque_pointers(ir)) {}

  std::string run(const std::vector<std::string>& kernels) {
    find_variables();
    size_t number = 0;
    std::string out = each_line(ir_, [&](std::string_view line) { return marked(line, number++); });
    for (const char* padding : {"undef", "poison"}) {
      const std::string last = std::string("<i32 0, i32 1, i32 2, i32 ") + padding + ">";
      replace_all(out, last, "<i32 0, i32 1, i32 2, i32 2>");
    }
    out += std::string(kNoValue) + " = external hidden global " + kNoValueType + ", align 128\n";
    for (const std::string& kernel : kernels) out += table_of(kernel);
    const std::string copy = copy_name();
    if (copies_ && out.find("declare void " + copy) == std::string::npos) {
      const std::string bytes = pointer_to("i8", opaque_);
      out += "declare void " + copy + "(" + bytes + ", " + bytes + ", i64, i1)\n";
    }
    return out;
  }

 private:
  struct Variable {
    std::string type;
    std::string align;
    bool has_lifetime = false;
  };

  std::string copy_name() const {
    return opaque_ ? "@llvm.memcpy.p0.p0.i64" : "@llvm.memcpy.p0i8.p0i8.i64";
  }

  // The size and the pointer of a begin of a lifetime; an empty pointer: another line.
  static std::pair<std::string_view, std::string_view> begin_of(const IrLine& line) {
    if (line.opcode != "call") return {};
    const size_t at = line.rest.find("@llvm.lifetime.start");
    if (at == std::string_view::npos) return {};
    const size_t size = line.rest.find("(i64 ", at);
    if (size == std::string_view::npos) return {};
    const size_t comma = line.rest.find(',', size);
    const auto names = names_in(line.rest.substr(comma));
    if (names.empty()) return {};
    return {line.rest.substr(size + 5, comma - size - 5), names.front()};
  }

  // Per function, because names are a function's.
  void find_variables() {
    std::map<std::string, std::string> casts;
    each_line(ir_, [&](std::string_view text) {
      if (text.starts_with("define ")) {
        variables_.emplace_back();
        casts.clear();
      }
      if (text.starts_with('@')) note_global(text);
      if (variables_.empty() || !text.starts_with(' ')) return std::string();
      const IrLine line = parse_line(text);
      if (line.opcode == "alloca") {
        note_variable(line);
      } else if (line.opcode == "bitcast") {
        const auto names = names_in(line.rest.substr(type_before(line.rest).size()));
        if (!names.empty()) casts[std::string(line.result)] = names.front();
      } else if (const auto [size, pointer] = begin_of(line); !pointer.empty()) {
        const auto cast = casts.find(std::string(pointer));
        const std::string name = cast == casts.end() ? std::string(pointer) : cast->second;
        const auto found = variables_.back().find(name);
        if (found != variables_.back().end()) found->second.has_lifetime = true;
        names_of_casts_.push_back(name);
      }
      return std::string();
    });
  }

  // A third part would be a count.
  void note_variable(const IrLine& line) {
    const auto parts = parts_of(line.rest);
    if (parts.size() < 2 || !parts[1].starts_with("align ")) return;
    variables_.back()[std::string(line.result)] = {std::string(parts[0]), std::string(parts[1])};
  }

  // `@kernel.name = internal global TYPE undef, align 16`
  void note_global(std::string_view text) {
    const std::string_view kind = " = internal global ";
    const size_t at = text.find(kind);
    if (at == std::string_view::npos) return;
    const std::string_view rest = text.substr(at + kind.size());
    const std::string_view type = type_before(rest);
    if (!trimmed(rest.substr(type.size())).starts_with("undef")) return;
    locals_.emplace_back(text.substr(0, at), type);
  }

  std::string marked(std::string_view text, size_t) {
    if (text.starts_with("define ")) ++function_;
    std::string out(text);
    if (function_ == 0 || !text.starts_with(' ')) return out;
    const auto& variables = variables_[function_ - 1];
    const IrLine line = parse_line(text);
    if (line.opcode == "alloca") {
      const auto found = variables.find(std::string(line.result));
      // Parameters are stored at once.
      const bool is_begun = found == variables.end() || found->second.has_lifetime ||
                            found->first.ends_with(".addr") || is_aggregate(found->second.type);
      if (!is_begun) out += begin(found->first, found->second, 0);
    } else if (const auto [size, pointer] = begin_of(line); !pointer.empty()) {
      const std::string& name = names_of_casts_[next_cast_++];
      const auto found = variables.find(name);
      if (found == variables.end()) return out;
      out += begin(name, found->second, std::strtoul(std::string(size).c_str(), nullptr, 10));
    }
    return out;
  }

  std::string begin(const std::string& name, const Variable& variable, unsigned long bytes) {
    const std::string& type = variable.type;
    if (is_aggregate(type)) {
      if (bytes == 0 || bytes > kMostCopied) return "";
      return begin_copy(name, type, bytes);
    }
    const std::string value = "%tandem.value" + std::to_string(++num_values_);
    const std::string pointer = pointer_to(type, opaque_);
    return "\n  " + value + " = load " + type + ", " + pointer + " " +
           global_as(kNoValue, kNoValueType, type, opaque_) + ", " + variable.align + "\n  store " +
           type + " " + value + ", " + pointer + " " + name + ", " + variable.align;
  }

  std::string begin_copy(const std::string& name, const std::string& type, unsigned long bytes) {
    copies_ = true;
    std::string to = name, text;
    if (!opaque_) {
      to = "%tandem.value" + std::to_string(++num_values_);
      text = "\n  " + to + " = bitcast " + type + "* " + name + " to i8*";
    }
    const std::string pointer = pointer_to("i8", opaque_);
    return text + "\n  call void " + copy_name() + "(" + pointer + " " + to + ", " + pointer + " " +
           global_as(kNoValue, kNoValueType, "i8", opaque_) + ", i64 " + std::to_string(bytes) +
           ", i1 false)";
  }

  std::string table_of(const std::string& kernel) const {
    std::ostringstream entries;
    size_t count = 0;
    for (const auto& [name, type] : locals_) {
      if (!name.starts_with("@" + kernel + ".") && !name.starts_with("@\"" + kernel + "."))
        continue;
      const std::string pointer = pointer_to(type, opaque_);
      entries << "i64 ptrtoint (" << pointer << " " << name << " to i64), i64 ptrtoint (" << pointer
              << " getelementptr (" << type << ", " << pointer << " null, i32 1) to i64), ";
      count += 2;
    }
    return "@tandem_cl_locals_" + kernel + " = hidden constant [" + std::to_string(count + 2) +
           " x i64] [" + entries.str() + "i64 0, i64 0]\n";
  }

  const std::string& ir_;
  const bool opaque_;
  std::vector<std::map<std::string, Variable>> variables_;  // by function
  std::vector<std::string> names_of_casts_;                 // of the lifetimes, in order
  std::vector<std::pair<std::string, std::string>> locals_;
  size_t function_ = 0;
  size_t next_cast_ = 0;
  size_t num_values_ = 0;
  bool copies_ = false;
};

}  // namespace

std::string begin_without_values(const std::string& ir, const std::vector<std::string>& kernels) {
  return ValueMarker(ir).run(kernels);
}

// `%r = call i32 @llvm.abs.i32(i32 %x, i1 true), !dbg !5`
std::string expand_absolute_values(const std::string& ir) {
  size_t number = 0;
  return each_line(ir, [&number](std::string_view text) {
    const size_t at = text.find("@llvm.abs.");
    const IrLine line = parse_line(text);
    if (at == std::string_view::npos || line.opcode != "call" || line.result.empty()) {
      return std::string(text);
    }
    const size_t open = text.find('(', at);
    const std::string_view argument = parts_of(text.substr(open + 1))[0];
    const std::string type(type_before(argument));
    const std::string value(argument.substr(argument.rfind(' ') + 1));
    const std::string zero = type.starts_with('<') ? "zeroinitializer" : "0";
    const std::string flag =
        type.starts_with('<') ? type.substr(0, type.find(" x ")) + " x i1>" : std::string("i1");
    const std::string name = "%tandem.abs" + std::to_string(++number);
    return "  " + name + ".less = icmp slt " + type + " " + value + ", " + zero + "\n  " + name +
           ".minus = sub " + type + " " + zero + ", " + value + "\n  " + std::string(line.result) +
           " = select " + flag + " " + name + ".less, " + type + " " + name + ".minus, " + type +
           " " + value;
  });
}

}  // namespace tandem::opencl_c
