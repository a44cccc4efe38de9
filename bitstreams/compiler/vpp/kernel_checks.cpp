// SPDX-License-Identifier: Apache-2.0
//
// The compiler may turn a loop of the empty functions into a call of the function itself, so that
// is switched off. Optimisation stays at -O1: higher levels move loads to where the source has
// none. So does an evaluation of both sides of `a && b`.
#include "bitstreams/compiler/vpp/kernel_checks.h"

#include "bitstreams/compiler/compiler_process.h"
#include "bitstreams/compiler/vpp/inline_checks.h"

namespace tandem::vpp {
namespace {

// A callback: the compiler's name, the card's name, and the empty function.
struct Callback {
  const char* compiler;
  const char* card;
  const char* result;
  const char* parameters;
  const char* body;
};

constexpr const char* kCopyForward =
    "{char* d = (char*)to; const char* s = (const char*)from; while (n--) *d++ = *s++; return to;}";
constexpr const char* kCopyAny =
    "{char* d = (char*)to; const char* s = (const char*)from; "
    "if (d < s) {while (n--) *d++ = *s++;} else {while (n--) d[n] = s[n];} return to;}";
constexpr const char* kFill = "{char* d = (char*)to; while (n--) *d++ = (char)value; return to;}";

constexpr Callback kCallbacks[] = {
    {"__asan_load1_noabort", "load1", "void", "void*", "{}"},
    {"__asan_load2_noabort", "load2", "void", "void*", "{}"},
    {"__asan_load4_noabort", "load4", "void", "void*", "{}"},
    {"__asan_load8_noabort", "load8", "void", "void*", "{}"},
    {"__asan_load16_noabort", "load16", "void", "void*", "{}"},
    {"__asan_loadN_noabort", "load_bytes", "void", "void*, unsigned long", "{}"},
    {"__asan_store1_noabort", "store1", "void", "void*", "{}"},
    {"__asan_store2_noabort", "store2", "void", "void*", "{}"},
    {"__asan_store4_noabort", "store4", "void", "void*", "{}"},
    {"__asan_store8_noabort", "store8", "void", "void*", "{}"},
    {"__asan_store16_noabort", "store16", "void", "void*", "{}"},
    {"__asan_storeN_noabort", "store_bytes", "void", "void*, unsigned long", "{}"},
    {"tandem_take1", "take1", "void*", "void*", "{return 0;}"},
    {"tandem_take2", "take2", "void*", "void*", "{return 0;}"},
    {"tandem_take4", "take4", "void*", "void*", "{return 0;}"},
    {"tandem_take8", "take8", "void*", "void*", "{return 0;}"},
    {"tandem_take16", "take16", "void*", "void*", "{return 0;}"},
    {"tandem_probe", "probe", "void*", "void*, void*, unsigned long", "{return 0;}"},
    {"tandem_written", "written", "void", "void*, unsigned long", "{}"},
    {"tandem_stream_block", "stream_block", "void", "const void*, unsigned long", "{}"},
    {"tandem_copied_array", "copied_array", "void", "void*, void*, unsigned long", "{}"},
    {"tandem_used", "used", "void", "void*", "{}"},
    {"tandem_unset_store", "unset_store", "void", "void*, void*, unsigned long", "{}"},
    {"tandem_unset_part", "unset_part", "void", "void*, void*, unsigned long", "{}"},
    {"tandem_unset_choice", "unset_choice", "void", "void*, void*, unsigned long", "{}"},
    {"tandem_unset_copy", "unset_copy", "void", "void*, void*, unsigned long", "{}"},
    {"__asan_poison_stack_memory", "leave_scope", "void", "void*, unsigned long", "{}"},
    {"__asan_unpoison_stack_memory", "enter_scope", "void", "void*, unsigned long", "{}"},
    {"__asan_alloca_poison", "alloca", "void", "void*, unsigned long", "{}"},
    {"__asan_allocas_unpoison", "drop_allocas", "void", "void*, void*", "{}"},
    {"__asan_handle_no_return", "no_return", "void", "", "{}"},
    {"__asan_register_globals", "globals", "void", "void*, unsigned long", "{}"},
    {"__asan_unregister_globals", "drop_globals", "void", "void*, unsigned long", "{}"},
    {"__asan_before_dynamic_init", "before_init", "void", "const char*", "{}"},
    {"__asan_after_dynamic_init", "after_init", "void", "", "{}"},
    {"__ubsan_handle_out_of_bounds", "index", "void", "void*, unsigned long", "{}"},
    {"__ubsan_handle_divrem_overflow", "division", "void", "void*, unsigned long, unsigned long",
     "{}"},
    {"__ubsan_handle_type_mismatch_v1", "alignment", "void", "void*, unsigned long", "{}"},
    {"tandem_restricted", "restricted", "void",
     "void*, const volatile void*, const volatile void*, const char*, const char*, int", "{}"},
    {"tandem_restrict_end", "restrict_end", "void", "void*", "{}"},
    {"tandem_range_ok", "range_ok", "int",
     "unsigned long, unsigned long, unsigned long, unsigned long, unsigned long", "{return 1;}"},
    {"tandem_range_stored", "range_stored", "void",
     "unsigned long, unsigned long, unsigned long, unsigned long", "{}"},
    {"tandem_stored", "stored", "void", "const volatile void*, unsigned long", "{}"},
    {"tandem_dependence_begin", "loop_begin", "void", "void*", "{}"},
    {"tandem_dependence_turn", "loop_turn", "void", "void*", "{}"},
    {"tandem_dependence_end", "loop_end", "void", "void*", "{}"},
    {"tandem_dependence_claim", "claim", "void",
     "void*, const volatile void*, unsigned long, const char*, const char*, int, unsigned, "
     "unsigned",
     "{}"},
    {"__msan_warning_with_origin", "value_used", "void", "unsigned", "{}"},
    {"__msan_memcpy", "value_copy", "void*", "void* to, const void* from, unsigned long n",
     kCopyForward},
    {"__msan_memmove", "value_move", "void*", "void* to, const void* from, unsigned long n",
     kCopyAny},
    {"__msan_memset", "value_fill", "void*", "void* to, int value, unsigned long n", kFill},
    {"tandem_value_stored", "value_stored", "void", "void*, unsigned long, unsigned long", "{}"},
    {"tandem_atomic", "atomic", "void", "void*, unsigned long", "{}"},
    {"tandem_packet_leaves", "packet_leaves", "void", "void*, unsigned long", "{}"},
    {"tandem_group_copy", "group_copy", "void*",
     "void* to, const void* from, unsigned long n, void*", kCopyAny},
    {"tandem_group_begin", "group_begin", "int", "unsigned long, void*, unsigned long",
     "{return 0;}"},
    {"tandem_item", "item", "void", "unsigned long", "{}"},
    {"tandem_interval", "interval", "void", "", "{}"},
    {"tandem_touch", "touch", "void", "void*, unsigned long, int", "{}"},
    {"tandem_span_ok", "span_ok", "int",
     "unsigned long, unsigned long, unsigned long, long, unsigned long, long, unsigned long",
     "{return 0;}"},
    {"tandem_span_done", "span_done", "void",
     "unsigned long, unsigned long, unsigned long, long, unsigned long, long, unsigned long, void*",
     "{}"},
    {"tandem_uneven", "uneven", "void", "void*, void*, unsigned long, unsigned long", "{}"},
    {"memcpy", "memcpy", "void*", "void* to, const void* from, unsigned long n", kCopyForward},
    {"memmove", "memmove", "void*", "void* to, const void* from, unsigned long n", kCopyAny},
    {"memset", "memset", "void*", "void* to, int value, unsigned long n", kFill},
};

std::string card_name(const Callback& callback) {
  return std::string("tandem_check_") + callback.card;
}

std::string entry_name(const std::string& kernel) { return "tandem_checked_" + kernel; }

}  // namespace

std::vector<std::string> check_flags() {
  return {"-O1",
          "-g1",
          "-finline-functions",
          "-finline-small-functions",
          "--param=max-inline-insns-auto=200",  // what is called hides where a value goes
          "-fno-tree-loop-distribute-patterns",
          "--param=logical-op-non-short-circuit=0",
          "-fno-builtin-memcpy",
          "-fno-builtin-memmove",
          "-fno-builtin-memset",
          "-fsanitize=kernel-address,bounds,integer-divide-by-zero,alignment",
          "-fsanitize-address-use-after-scope",
          std::string("-fasan-shadow-offset=") + kShadowOffsetText,
          "--param=asan-stack=1",
          "--param=asan-globals=1",
          "--param=asan-instrumentation-with-call-threshold=0",
          "--param=use-after-scope-direct-emission-threshold=0"};
}

std::vector<std::string> opencl_source_flags() {
  return {"-fsanitize=array-bounds,integer-divide-by-zero,alignment", "-fsanitize-recover=all"};
}

// LLVM's redzones are marked in the same shadow bytes. Without the marks of scopes it knows no
// variable that has no value yet. Atomic functions of two units are no race.
std::vector<std::string> opencl_check_flags() {
  return {"-fsanitize=kernel-address",
          "-mllvm",
          "-asan-instrumentation-with-call-threshold=0",
          "-mllvm",
          std::string("-asan-mapping-offset=") + kShadowOffsetText,
          "-mllvm",
          "-asan-stack=1",
          "-mllvm",
          "-asan-globals=1",
          "-mllvm",
          "-asan-instrument-atomics=0",
          "-mllvm",
          "-asan-use-after-scope=0",
          "-mllvm",
          "-asan-opt-same-temp=0"};
}

// The flags are those of -O3 that matter after the plugin's place among g++'s passes.
std::vector<std::string> loop_flags(const std::string& plugin) {
  return {"-fplugin=" + plugin,
          "-ftree-loop-vectorize",
          "-ftree-slp-vectorize",
          "-fvect-cost-model=dynamic",
          "-ftree-vrp",
          "-fexpensive-optimizations",
          "-fgcse",
          "-fpeephole2",
          "-fschedule-insns2"};
}

// A loop that copies would become a call, which is checked once more.
opencl_c::LoopFlags opencl_loop_flags(const std::string& plugin) {
  if (plugin.empty()) return {};
  return {{"-fpass-plugin=" + plugin},
          {"-fvectorize", "-fslp-vectorize", "-mllvm", "-disable-loop-idiom-all"}};
}

// Initialisers of the copy use maps that only a card has, so they run when the card says so.
std::string check_stubs(bool follows_values) {
  std::string text =
      "\nextern \"C\" {\n"
      "extern void (*__start_tandem_init[])() __attribute__((__weak__, "
      "__visibility__(\"hidden\")));\n"
      "extern void (*__stop_tandem_init[])() __attribute__((__weak__, "
      "__visibility__(\"hidden\")));\n"
      "__attribute__((__weak__, __visibility__(\"default\"))) void tandem_checked_begin() "
      "{for (void (**i)() = __start_tandem_init; i != __stop_tandem_init; ++i) (*i)();}\n"
      "__attribute__((__weak__, __visibility__(\"hidden\"))) unsigned long "
      "tandem_check_mask = ~0ul;\n"
      "__attribute__((__weak__, __visibility__(\"default\"))) unsigned long* "
      "tandem_checked_mask() {return &tandem_check_mask;}\n";
  if (follows_values) {
    text +=
        "__attribute__((__weak__, __visibility__(\"default\"))) void tandem_checked_follows() {}\n";
  }
  for (const Callback& callback : kCallbacks) {
    text += std::string("__attribute__((__weak__, __visibility__(\"default\"))) ") +
            callback.result + " " + card_name(callback) + "(" + callback.parameters + ") " +
            callback.body + "\n";
  }
  return text + "}\n";
}

std::string join_checked(const std::vector<std::string>& objects,
                         const std::vector<std::string>& kernels, const std::string& folder) {
  const std::string failure = "the checked copy of the kernel does not link";
  const std::string joined = folder + "/checked-joined.o";
  xclbin::join_objects(objects, joined, failure);
  const std::string renamed = folder + "/checked-renamed.o";
  std::vector<std::string> rename = {"objcopy"};
  for (const Callback& callback : kCallbacks) {
    rename.push_back("--redefine-sym=" + std::string(callback.compiler) + "=" +
                     card_name(callback));
  }
  for (const std::string& kernel : kernels) {
    rename.push_back("--redefine-sym=tandem_kernel_" + kernel + "=" + entry_name(kernel));
  }
  for (const char* section : {".init_array", ".init_array.00099", ".init_array.1"}) {
    rename.push_back(std::string("--rename-section=") + section + "=tandem_init");
  }
  rename.insert(rename.end(), {joined, renamed});
  xclbin::run_tool(rename, failure);
  const std::string checked = folder + "/checked.o";
  std::vector<std::string> keep = {"objcopy"};
  for (const std::string& option : checked_symbols(kernels)) keep.push_back(option);
  keep.insert(keep.end(), {renamed, checked});
  xclbin::run_tool(keep, failure);
  return checked;
}

std::vector<std::string> checked_symbols(const std::vector<std::string>& kernels) {
  std::vector<std::string> options;
  for (const char* name : {"tandem_checked_begin", "tandem_checked_mask", "tandem_checked_follows",
                           "tandem_check_mask"}) {
    options.push_back(std::string("--keep-global-symbol=") + name);
  }
  for (const Callback& callback : kCallbacks) {
    options.push_back("--keep-global-symbol=" + card_name(callback));
  }
  for (const std::string& kernel : kernels) {
    options.push_back("--keep-global-symbol=" + entry_name(kernel));
  }
  return options;
}

}  // namespace tandem::vpp
