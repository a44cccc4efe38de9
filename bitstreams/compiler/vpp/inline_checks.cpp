// SPDX-License-Identifier: Apache-2.0
//
// The address is in %rdi. Shadow bytes: 0: nothing to find; k from 1 to 7: only the first k bytes
// may be accessed; -128: nothing to find for loads; kBlankShadow + 0 to 7: a variable in scope of 8
// or k bytes, some of which were not written; others, such as those 8 above (a missing value was
// stored): the call decides.
#include "bitstreams/compiler/vpp/inline_checks.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>

namespace tandem::vpp {
namespace {

constexpr int kBlankShadow = -112;
constexpr const char* kBlankOffsetText = "0x200000000000";

struct Access {
  bool is_load = false;
  int num_bytes = 0;
};

bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// The name of the function that a line calls by its name; empty: none.
std::string_view called_function(std::string_view line) {
  if (!take(line, "\tcall\t") && !take(line, "\tcallq\t")) return {};
  const size_t end = line.find("@PLT");
  return end != std::string_view::npos && end + 4 != line.size() ? std::string_view()
                                                                 : line.substr(0, end);
}

// `__asan_load4_noabort`
std::optional<Access> access_of(std::string_view function) {
  Access access;
  if (!take(function, "__asan_")) return {};
  access.is_load = take(function, "load");
  if (!access.is_load && !take(function, "store")) return {};
  const char* const end = function.data() + function.size();
  const auto read = std::from_chars(function.data(), end, access.num_bytes);
  if (read.ec != std::errc() || std::string_view(read.ptr, end) != "_noabort") return {};
  return access;
}

// Puts what the shadow byte kShadow stands for into %rax. If all calls are wanted, the mask is 0:
// the byte is then that of address 0, for which the call decides.
const std::string kShadow = std::string(kShadowOffsetText) + "(%rax)";
constexpr const char* kFindShadow =
    "\tmovq\t%rdi, %rax\n\tshrq\t$3, %rax\n\tandq\ttandem_check_mask(%rip), %rax\n";

// Accesses of less than 8 bytes may lie in the accessible ones.
std::string check_of_part(int num_bytes, const std::string& done) {
  std::string text = "\tmovsbl\t" + kShadow + ", %eax\n\tmovl\t%edi, %ecx\n\tandl\t$7, %ecx\n";
  if (num_bytes > 1) text += "\taddl\t$" + std::to_string(num_bytes - 1) + ", %ecx\n";
  return text + "\tcmpb\t%al, %cl\n\tjl\t" + done + "\n";
}

// A load whose value is followed: %rax becomes null if it is right.
std::string check_of_take(int num_bytes, const std::string& done) {
  const std::string shadow = std::string(kShadowOffsetText) + "(%rdx)";
  std::string text =
      "\tmovq\t%rdi, %rdx\n\tshrq\t$3, %rdx\n\tandq\ttandem_check_mask(%rip), %rdx\n"
      "\txorl\t%eax, %eax\n";
  text += (num_bytes == 16 ? "\ttestw\t$0x7f7f, " : "\ttestb\t$0x7f, ") + shadow;
  text += "\n\tje\t" + done + "\n";
  if (num_bytes >= 8) return text;
  text += "\tmovsbl\t" + shadow + ", %esi\n\tmovl\t%edi, %ecx\n\tandl\t$7, %ecx\n";
  if (num_bytes > 1) text += "\taddl\t$" + std::to_string(num_bytes - 1) + ", %ecx\n";
  return text + "\tcmpb\t%sil, %cl\n\tjl\t" + done + "\n";
}

// The first argument is null for values that are there.
std::string check_of_token(const std::string& done) {
  return "\ttestq\t%rdi, %rdi\n\tje\t" + done + "\n";
}

// A copy from the address in %rdi of as many bytes as %rdx tells, if its ends have values.
std::string check_of_copy(const std::string& done) {
  std::string text = kFindShadow;
  text += "\tleaq\t-1(%rdi,%rdx), %rcx\n\tshrq\t$3, %rcx\n";
  text += "\tandq\ttandem_check_mask(%rip), %rcx\n\tmovzbl\t" + kShadow + ", %eax\n";
  text += std::string("\torb\t") + kShadowOffsetText + "(%rcx), %al\n";
  return text + "\ttestb\t$0x7f, %al\n\tje\t" + done + "\n";
}

// -128 differs from 0 in its highest bit only.
std::string check_of_load(int num_bytes, const std::string& done) {
  std::string text = kFindShadow;
  text += (num_bytes == 16 ? "\ttestw\t$0x7f7f, " : "\ttestb\t$0x7f, ") + kShadow;
  text += "\n\tje\t" + done + "\n";
  return num_bytes >= 8 ? text : text + check_of_part(num_bytes, done);
}

// A part of 8 bytes without a value gets one; `rest` is where other words go on.
std::string set_part(int num_bytes, const std::string& call, const std::string& done,
                     const std::string& rest) {
  std::string text = "\tcmpb\t$" + std::to_string(kBlankShadow) + ", " + kShadow + "\n\tjne\t" +
                     rest + "\n\tmovl\t%edi, %ecx\n\tandl\t$7, %ecx\n\tcmpl\t$" +
                     std::to_string(8 - num_bytes) + ", %ecx\n\tja\t" + call + "\n";
  text += "\tmovl\t$" + std::to_string((1 << num_bytes) - 1) +
          ", %esi\n\tshll\t%cl, %esi\n\tnotl\t%esi\n";
  text += std::string("\tmovabsq\t$") + kBlankOffsetText + ", %rdx\n";
  text += "\tandb\t%sil, (%rdx,%rax)\n\tjne\t" + done + "\n";
  return text + "\tmovb\t$0, " + kShadow + "\n\tjmp\t" + done + "\n" + rest + ":\n";
}

// A store to a variable that had no value yet is noted here.
std::string check_of_store(int num_bytes, const std::string& call, const std::string& done) {
  std::string text = kFindShadow;
  text += (num_bytes == 16 ? "\tcmpw\t$0, " : "\tcmpb\t$0, ") + kShadow;
  text += "\n\tje\t" + done + "\n";
  if (num_bytes == 16) return text;
  const int bound = num_bytes % 8;
  const std::string partly = call + "p";
  text += "\tcmpb\t$" + std::to_string(kBlankShadow + bound) + ", " + kShadow + "\n";
  text += "\tjne\t" + partly + "\n\ttestb\t$7, %dil\n\tjne\t" + call + "\n";
  text += "\tmovb\t$" + std::to_string(bound) + ", " + kShadow + "\n";
  text += std::string("\tmovabsq\t$") + kBlankOffsetText + ", %rdx\n";
  text += "\tmovb\t$0, (%rdx,%rax)\n\tjmp\t" + done + "\n" + partly + ":\n";
  if (num_bytes == 8) return text;
  return text + set_part(num_bytes, call, done, call + "r") + check_of_part(num_bytes, done);
}

// A store that is announced before the load of the same element; its size is in %rsi.
std::string check_of_announced(const std::string& call, const std::string& done) {
  return "\tcmpq\t$8, %rsi\n\tja\t" + call + "\n" + kFindShadow + "\tcmpb\t$0, " + kShadow +
         "\n\tje\t" + done + "\n";
}

// The scope of a variable of at most 8 bytes begins or ends; its size is in %rsi.
std::string change_of_scope(bool begins, const std::string& call, const std::string& done) {
  std::string text = "\tcmpq\t$8, %rsi\n\tja\t" + call + "\n\ttestb\t$7, %dil\n\tjne\t" + call +
                     "\n\tcmpq\t$0, tandem_check_mask(%rip)\n\tje\t" + call + "\n" + kFindShadow;
  if (begins) {
    text += "\tmovl\t%esi, %ecx\n\tmovl\t$1, %r8d\n\tshll\t%cl, %r8d\n\tdecl\t%r8d\n";
    text += "\tandl\t$7, %ecx\n\taddl\t$" + std::to_string(kBlankShadow) + ", %ecx\n";
    text += "\tmovb\t%cl, " + kShadow + "\n";
  } else {
    text += "\txorl\t%r8d, %r8d\n\tmovb\t$-8, " + kShadow + "\n";
  }
  text += std::string("\tmovabsq\t$") + kBlankOffsetText + ", %rdx\n";
  return text + "\tmovb\t%r8b, (%rdx,%rax)\n\tjmp\t" + done + "\n";
}

// What stands before a call of this function; empty: nothing.
std::string code_before(std::string_view function, const std::string& call,
                        const std::string& done) {
  if (function == "tandem_stored") return check_of_announced(call, done);
  for (const char* with_token :
       {"tandem_used", "tandem_unset_store", "tandem_unset_part", "tandem_unset_choice"}) {
    if (function == with_token) return check_of_token(done);
  }
  if (function == "tandem_unset_copy") return check_of_copy(done);
  if (function == "tandem_probe") return "\txorl\t%eax, %eax\n" + check_of_token(done);
  constexpr std::string_view kTake = "tandem_take";
  if (function.starts_with(kTake)) {
    return check_of_take(std::atoi(function.data() + kTake.size()), done);
  }
  if (function == "__asan_unpoison_stack_memory") return change_of_scope(true, call, done);
  if (function == "__asan_poison_stack_memory") return change_of_scope(false, call, done);
  const auto access = access_of(function);
  if (!access) return "";
  return access->is_load ? check_of_load(access->num_bytes, done)
                         : check_of_store(access->num_bytes, call, done);
}

}  // namespace

std::string inline_checks(std::string_view assembly) {
#if !defined(__x86_64__)
  return std::string(assembly);
#endif
  if (assembly.find(".intel_syntax") != std::string_view::npos) return std::string(assembly);
  std::string out;
  int number = 0;
  for (size_t at = 0; at < assembly.size();) {
    const size_t end = std::min(assembly.find('\n', at), assembly.size());
    const std::string_view line = assembly.substr(at, end - at);
    const std::string_view function = called_function(line);
    at = end + 1;
    const std::string call = ".Ltandem_call" + std::to_string(number + 1);
    const std::string done = ".Ltandem_done" + std::to_string(number + 1);
    const std::string before = code_before(function, call, done);
    if (before.empty()) {
      out.append(line).append("\n");
      continue;
    }
    ++number;
    out += before;
    out.append(call).append(":\n").append(line).append("\n").append(done).append(":\n");
  }
  return number == 0 ? std::string(assembly) : out + "\t.hidden\ttandem_check_mask\n";
}

}  // namespace tandem::vpp
