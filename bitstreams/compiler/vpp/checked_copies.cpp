// SPDX-License-Identifier: Apache-2.0
//
// Marks are left out one kind after the other: they use names at other places than the source does.
#include "bitstreams/compiler/vpp/checked_copies.h"

#include "bitstreams/compiler/compiler_process.h"
#include "bitstreams/compiler/vpp/dependence_marks.h"
#include "bitstreams/compiler/vpp/inline_checks.h"
#include "bitstreams/compiler/vpp/kernel_checks.h"
#include "bitstreams/compiler/vpp/restrict_marks.h"
#include "bitstreams/compiler/vpp/store_marks.h"
#include "bitstreams/xclbin/whole_file.h"
#include "common/error.h"

namespace tandem::vpp {
namespace {

bool runs(const std::vector<std::string>& command) {
  try {
    xclbin::run_tool(command, "");
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

CheckedCopies::CheckedCopies(const Toolchain& toolchain, const std::string& kernel)
    : toolchain_(toolchain), kernel_("kernel '" + kernel + "'") {
  is_on_ = toolchain.checks && xclbin::accepts_flags(toolchain.compiler, check_flags());
  if (is_on_ && !toolchain.loop_checks.empty()) choose_loop_flags();
}

void CheckedCopies::choose_loop_flags() {
  loop_flags_ = loop_flags(toolchain_.loop_checks);
  if (xclbin::accepts_flags(toolchain_.compiler, loop_flags_)) return;
  loop_flags_.clear();
  warn(": all loops keep their checks, so checked runs take longer: " + toolchain_.compiler +
       " does not load the plugin " + toolchain_.loop_checks + "; build Tandem with this compiler");
}

void CheckedCopies::compile(std::vector<std::string> command, const Source& source) {
  if (!is_on_) return;
  for (const std::string& flag : check_flags()) command.push_back(flag);
  const std::string stem = source.stem + ".checked";
  command.insert(command.end(), {"-w", "-S", stem + ".ii", "-o", stem + ".s"});
  const std::string loops = mark_dependences(mark_restricts(source.text));
  const std::string marked = mark_stores(loops);
  std::string left_out;
  bool is_compiled = compiles(command, marked, source);
  if (!is_compiled && marked != loops) {
    left_out = "stores of statements such as `a[i] += x`";
    is_compiled = compiles(command, loops, source);
  }
  if (!is_compiled && loops != source.text) {
    left_out =
        "dependence pragmas, __restrict pointers, and stores of statements such as `a[i] += x`";
    is_compiled = compiles(command, source.text, source);
  }
  if (!is_compiled) {
    is_on_ = false;
    objects_.clear();
    return warn(" gets no checks of its memory accesses: " + toolchain_.compiler +
                " cannot compile it with them");
  }
  assemble(stem);
  if (fails_with_plugin_) {
    warn(
        ": its checked copy is made without the plugin, so its loops keep their checks and fewer "
        "variables without a value are found: " +
        toolchain_.compiler + " fails with " + toolchain_.loop_checks +
        ", which is a fault of Tandem");
  }
  if (!left_out.empty()) {
    warn(": its " + left_out + " are not checked, since " + toolchain_.compiler +
         " cannot compile the checks at their places");
  }
}

bool CheckedCopies::compiles(const std::vector<std::string>& command, const std::string& text,
                             const Source& source) {
  const auto write = [&](bool follows_values) {
    xclbin::write_text(source.stem + ".checked.ii",
                       source.has_kernel ? text + check_stubs(follows_values) : text);
  };
  if (!loop_flags_.empty()) {
    write(true);
    std::vector<std::string> with_loops = command;
    with_loops.insert(with_loops.end(), loop_flags_.begin(), loop_flags_.end());
    fails_with_plugin_ = !runs(with_loops);
    if (!fails_with_plugin_) return true;
  }
  write(false);
  return runs(command);
}

void CheckedCopies::assemble(const std::string& stem) {
  xclbin::write_text(stem + ".s", inline_checks(xclbin::read_text(stem + ".s")));
  objects_.push_back(stem + ".o");
  xclbin::run_tool({toolchain_.compiler, "-c", stem + ".s", "-o", objects_.back()},
                   "the checked copy of the kernel does not assemble");
}

}  // namespace tandem::vpp
