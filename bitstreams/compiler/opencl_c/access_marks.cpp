// SPDX-License-Identifier: Apache-2.0
//
// Pointers to states are known by the number that the pass adds to an address. Pointers to an
// item's own variables are those that are computed from an allocation; all others may be shared.
#include "bitstreams/compiler/opencl_c/access_marks.h"

#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "bitstreams/compiler/opencl_c/access_functions.h"
#include "bitstreams/compiler/opencl_c/ir_lines.h"
#include "bitstreams/compiler/opencl_c/value_marks.h"

namespace tandem::opencl_c {
namespace {

constexpr const char* kStatesText = "0x300000000000";
constexpr const char* kStatesNumber = "52776558133248";  // the same

bool is_address_step(std::string_view opcode) {
  for (const std::string_view each : {"getelementptr", "bitcast", "inttoptr", "ptrtoint", "add",
                                      "and", "or", "xor", "phi", "select", "addrspacecast"}) {
    if (opcode == each) return true;
  }
  return false;
}

bool is_all_ones(std::string_view value) {
  if (value == "-1") return true;
  if (!value.starts_with('<')) return false;
  for (const std::string_view part : parts_of(value.substr(1, value.size() - 2))) {
    if (!part.ends_with(" -1")) return false;
  }
  return true;
}

// "!dbg !17" with its comma, as the line has it; empty: none.
std::string place_in(std::string_view line) {
  const size_t at = line.find(", !dbg !");
  if (at == std::string_view::npos) return "";
  const size_t end = line.find(',', at + 1);
  return std::string(line.substr(at, end == std::string_view::npos ? end : end - at));
}

// A load or a store.
struct MemoryAccess {
  bool writes = false, is_atomic = false;
  std::string_view type, value, pointer;
};

MemoryAccess access_in(const IrLine& line) {
  MemoryAccess access;
  access.writes = line.opcode == "store";
  std::string_view rest = line.rest;
  for (const std::string_view word : {"atomic ", "volatile "}) {
    if (!rest.starts_with(word)) continue;
    rest.remove_prefix(word.size());
    access.is_atomic |= word == "atomic ";
  }
  const auto parts = parts_of(rest);
  if (parts.size() < 2) return access;
  access.type = type_before(parts[0]);
  if (access.writes) access.value = trimmed(parts[0].substr(access.type.size()));
  access.pointer = trimmed(parts[1].substr(type_before(parts[1]).size()));
  // "%p seq_cst", "%p syncscope(\"agent\") acquire"
  const bool is_name = access.pointer.starts_with('%') || access.pointer.starts_with('@');
  if (access.is_atomic && is_name)
    access.pointer = access.pointer.substr(0, access.pointer.find(' '));
  return access;
}

// A variable of known size.
struct Object {
  std::string name, type;
};

class AccessMarker {
 public:
  explicit AccessMarker(const std::string& ir) : ir_(ir), opaque_(has_opaque_pointers(ir)) {}

  std::string run() {
    std::string out = each_line(ir_, [this](std::string_view line) { return marked(line); });
    out += functions();
    return out;
  }

 private:
  std::string marked(std::string_view text) {
    if (text.starts_with("define ")) {
      states_.clear();
      own_.clear();
      roots_.clear();
    }
    if (text.starts_with('@')) {
      note_global(text);
      return with_variables(text);
    }
    if (text.starts_with("attributes ")) return with_checks(text);
    if (text.starts_with("declare ") && text.find(" @tandem_cl_known(") != std::string_view::npos) {
      return known_function(opaque_);
    }
    if (!text.starts_with("  ")) return std::string(text);
    const IrLine line = parse_line(text);
    if (line.opcode == "load" || line.opcode == "store") return access(text, line);
    if (line.opcode == "atomicrmw" || line.opcode == "cmpxchg") return atomic(text, line);
    if (line.opcode == "call") return call(text, line);
    note_pointer(line);
    return std::string(text);
  }

  // A library has copies of its variables, and one thread.
  static std::string with_variables(std::string_view text) {
    std::string out(text);
    const std::string_view kind = " = external thread_local(initialexec) global ";
    const size_t at = out.find(kind);
    if (!text.starts_with("@__msan_") || at == std::string::npos) return out;
    out.replace(at, kind.size(), " = internal global ");
    const size_t end = out.find(", ", at);
    out.insert(end == std::string::npos ? out.size() : end, " zeroinitializer");
    return out;
  }

  static std::string with_checks(std::string_view text) {
    std::string out(text);
    const std::string_view name = "sanitize_memory";
    const size_t at = out.find(name);
    if (at != std::string::npos) out.replace(at, name.size(), "sanitize_address");
    return out;
  }

  bool leads_to_states(std::string_view text) const {
    if (text.find(kStatesNumber) != std::string_view::npos) return true;
    if (text.find("@__msan_") != std::string_view::npos) return true;
    for (const std::string_view name : names_in(text)) {
      if (states_.contains(std::string(name))) return true;
    }
    return false;
  }

  // `@k.tile = internal global [8 x i32] undef, align 16`
  void note_global(std::string_view text) {
    for (const std::string_view kind : {" global ", " constant "}) {
      const size_t at = text.find(kind);
      if (at == std::string_view::npos || text.find(" external ") < at) continue;
      const std::string name(text.substr(0, text.find(' ')));
      globals_[name] = {name, std::string(type_before(text.substr(at + kind.size())))};
      return;
    }
  }

  void note_pointer(const IrLine& line) {
    if (line.opcode == "alloca") {
      own_.emplace(line.result);
      const auto parts = parts_of(line.rest);
      const bool is_one = parts.size() == 1 || parts[1].starts_with("align ");
      if (is_one)
        roots_[std::string(line.result)] = {std::string(line.result), std::string(parts[0])};
    } else if (is_address_step(line.opcode)) {
      if (leads_to_states(line.rest)) {
        states_.emplace(line.result);
      } else if (line.opcode == "getelementptr" || line.opcode == "bitcast") {
        follow(line);
      }
    }
  }

  // The object that a pointer text begins at; null: not known.
  const Object* root_of(std::string_view pointer) const {
    const auto local = roots_.find(std::string(pointer));
    if (local != roots_.end()) return &local->second;
    const size_t at = pointer.find('@');
    if (pointer.starts_with('%') || at == std::string_view::npos) return nullptr;
    const size_t end = pointer.find_first_of(" ,)", at);
    const auto global = globals_.find(std::string(pointer.substr(at, end - at)));
    return global == globals_.end() ? nullptr : &global->second;
  }

  // "inbounds [4 x i32], [4 x i32]* %a, i64 0, i64 %i", or "i32* %a to i8*".
  void follow(const IrLine& line) {
    const auto parts = parts_of(line.rest);
    const bool is_cast = line.opcode == "bitcast";
    if (parts.size() < (is_cast ? 1u : 2u)) return;
    std::string_view base = parts[is_cast ? 0 : 1];
    base = trimmed(base.substr(type_before(base).size()));
    if (is_cast) base = base.substr(0, base.find(" to "));
    if (own_.contains(std::string(base))) own_.emplace(line.result);
    if (const Object* const root = root_of(base)) roots_[std::string(line.result)] = *root;
  }

  std::string access(std::string_view text, const IrLine& line) {
    const MemoryAccess access = access_in(line);
    if (leads_to_states(access.pointer)) {
      const bool is_parameter = access.pointer.find("@__msan_") != std::string_view::npos;
      if (access.writes && !is_parameter && !is_all_ones(access.value)) {
        return state_store(access, text);
      }
      return unchecked(text);
    }
    if (access.pointer.find(kNoValue) != std::string_view::npos) return unchecked(text);
    if (access.is_atomic && access.pointer.find(' ') != std::string_view::npos) {
      return std::string(text);
    }
    if (access.is_atomic) {
      return atomic_call(access.type, std::string(access.pointer), text) + std::string(text);
    }
    if (text.find("!nosanitize") != std::string_view::npos) return std::string(text);
    if (own_.contains(std::string(access.pointer))) {
      return check(access, text) + std::string(text) + kUnchecked;
    }
    return check(access, text) + "  call void @" + touch(access) + "(" +
           pointer_to(access.type, opaque_) + " " + std::string(access.pointer) + ")" +
           place_in(text) + "\n" + std::string(text) + kUnchecked;
  }

  // `atomicrmw [volatile] add i32* %p, i32 1 seq_cst`, `cmpxchg [weak] i32* %p, i32 0, i32 1 ...`
  std::string atomic(std::string_view text, const IrLine& line) {
    const auto parts = parts_of(line.rest);
    const size_t blank = parts[0].rfind(' ');
    const bool is_known = parts.size() >= 2 && blank != std::string_view::npos;
    if (!is_known || parts[0].ends_with(')')) return std::string(text);
    return atomic_call(type_before(parts[1]), std::string(parts[0].substr(blank + 1)), text) +
           std::string(text);
  }

  // Atomic accesses of items and units are no race, so only their bounds are checked.
  std::string atomic_call(std::string_view type, const std::string& pointer,
                          std::string_view text) {
    const std::string name(type);
    const size_t number = atomics_.try_emplace(name, atomics_.size()).first->second;
    return "  call void @tandem_cl_atomic_" + std::to_string(number) + "(" +
           pointer_to(type, opaque_) + " " + pointer + ")" + place_in(text) + "\n";
  }

  static std::string unchecked(std::string_view text) {
    if (text.find("!nosanitize") != std::string_view::npos) return std::string(text);
    return std::string(text) + kUnchecked;
  }

  std::string state_store(const MemoryAccess& access, std::string_view text) {
    const std::string type(access.type);
    if (!type.starts_with('i') && !type.starts_with('<')) return unchecked(text);
    const size_t number = state_types_.try_emplace(type, state_types_.size()).first->second;
    return "  call void @tandem_cl_state_" + std::to_string(number) + "(" + type + " " +
           std::string(access.value) + ", " + pointer_to(type, opaque_) + " " +
           std::string(access.pointer) + ")" + place_in(text);
  }

  std::string check(const MemoryAccess& access, std::string_view text) {
    const auto key = std::make_pair(std::string(access.type), access.writes);
    if (const Object* const root = root_of(access.pointer)) return within(access, *root, text);
    const size_t number = checks_.try_emplace(key, checks_.size()).first->second;
    return "  call void @tandem_cl_check_" + std::to_string(number) + "(" +
           pointer_to(access.type, opaque_) + " " + std::string(access.pointer) + ")" +
           place_in(text) + "\n";
  }

  // The size of the object is known, so no shadow byte is needed.
  std::string within(const MemoryAccess& access, const Object& root, std::string_view text) {
    const auto key = std::make_tuple(std::string(access.type), access.writes, root.type);
    const size_t number = within_.try_emplace(key, within_.size()).first->second;
    return "  call void @tandem_cl_within_" + std::to_string(number) + "(" +
           pointer_to(access.type, opaque_) + " " + std::string(access.pointer) + ", " +
           pointer_to(root.type, opaque_) + " " + root.name + ")" + place_in(text) + "\n";
  }

  std::string touch(const MemoryAccess& access) {
    const auto key = std::make_pair(std::string(access.type), access.writes);
    const size_t number = touches_.try_emplace(key, touches_.size()).first->second;
    return "tandem_cl_touch_" + std::to_string(number);
  }

  // The pass fills the states of a variable; what it does instead of the intrinsic functions for
  // copies, the card does.
  std::string call(std::string_view text, const IrLine& line) {
    if (line.rest.find("@tandem_cl_current(") != std::string_view::npos) own_.emplace(line.result);
    if (line.rest.find("@llvm.memset") != std::string_view::npos && leads_to_states(line.rest)) {
      const size_t open = line.rest.find('(', line.rest.find("@llvm.memset"));
      const auto parts = parts_of(line.rest.substr(open + 1));
      const auto last_word = [](std::string_view part) {
        return std::string(part.substr(part.rfind(' ') + 1));
      };
      fills_ = true;
      return "  call void @tandem_cl_fill_states(" + pointer_to("i8", opaque_) + " " +
             pointer_of(parts[0]) + ", i8 " + last_word(parts[1]) + ", i64 " + last_word(parts[2]) +
             ")" + place_in(text);
    }
    return std::string(text);
  }

  // Of an argument with attributes: "i8* align 16 %x".
  static std::string pointer_of(std::string_view argument) {
    const size_t expression = argument.find('(');
    size_t at = argument.find_last_of(
        "%@", expression == std::string_view::npos ? std::string_view::npos : expression);
    if (expression != std::string_view::npos) {
      at = argument.rfind(' ', argument.find_last_not_of(' ', expression - 1));
      return std::string(argument.substr(at + 1));
    }
    return std::string(argument.substr(at));
  }

  std::string functions() {
    const std::string bytes = pointer_to("i8", opaque_);
    std::string out = "@tandem_cl_shares = external hidden global i32\n";
    out += "declare void @tandem_check_value_stored(" + bytes + ", i64, i64)\n";
    out += "declare void @tandem_check_touch(" + bytes + ", i64, i32)\n";
    out += "declare void @tandem_check_atomic(" + bytes + ", i64)\n";
    for (const auto& [type, number] : atomics_) out += atomic_function(type, number, opaque_);
    for (const auto& [key, number] : checks_) {
      out += check_function(key.first, key.second, number, opaque_);
    }
    for (const auto& [key, number] : within_) {
      const auto& [type, writes, object] = key;
      out += within_function({type, writes, object}, number, opaque_);
    }
    out += check_declarations(opaque_);
    if (fills_) out += "declare void @tandem_cl_fill_states(" + bytes + ", i8, i64)\n";
    for (const auto& [type, number] : state_types_) out += state_function(type, number, opaque_);
    for (const auto& [key, number] : touches_)
      out += touch_function(key.first, key.second, number, opaque_);
    return out;
  }

  const std::string& ir_;
  const bool opaque_;
  std::set<std::string> states_, own_;  // pointers, of the function
  bool fills_ = false;
  std::map<std::string, size_t> state_types_, atomics_;
  std::map<std::pair<std::string, bool>, size_t> touches_, checks_;
  std::map<std::tuple<std::string, bool, std::string>, size_t> within_;
  std::map<std::string, Object> roots_, globals_;  // by pointer; of the function, of the module
};

}  // namespace

std::vector<std::string> value_flags() {
  return {"-fsanitize=memory",
          "-fsanitize-recover=memory",
          "-mllvm",
          "-msan-and-mask=0x700000000000",
          "-mllvm",
          "-msan-xor-mask=0",
          "-mllvm",
          std::string("-msan-shadow-base=") + kStatesText,
          "-mllvm",
          "-msan-origin-base=0"};
}

std::string mark_accesses(const std::string& ir) { return AccessMarker(ir).run(); }

}  // namespace tandem::opencl_c
