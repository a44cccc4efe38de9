// SPDX-License-Identifier: Apache-2.0
//
// The tables, and the library functions that count as operations.
#include "bitstreams/compiler/timing/operators.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>

namespace tandem::timing {
namespace {

constexpr double kSlowMhz = 100, kFastMhz = 300;

struct FloatTime {
  const char* opcode;  // or the name of a function without its suffix
  double fast_float, fast_double, slow_float, slow_double;
};
// Cycles at 300 MHz and above, then at 100 MHz and below; between them in proportion.
constexpr FloatTime kFloatTimes[] = {
    {"fadd", 6, 7, 4, 4},     {"fsub", 6, 7, 4, 4},     {"fmul", 3, 7, 3, 4},
    {"fdiv", 15, 30, 9, 21},  {"frem", 30, 60, 20, 40}, {"fcmp", 1, 1, 1, 1},
    {"sqrt", 15, 30, 10, 20}, {"exp", 15, 29, 9, 18},   {"log", 18, 33, 11, 20},
    {"sin", 30, 40, 18, 26},  {"cos", 30, 40, 18, 26},  {"tanh", 40, 60, 25, 38},
    {"pow", 60, 90, 36, 60},  {"fmuladd", 8, 12, 6, 7}, {"fma", 8, 12, 6, 7}};
constexpr const char* kConversions[] = {"sitofp", "uitofp", "fptosi", "fptoui", "fpext", "fptrunc"};
constexpr const char* kFree[] = {
    "trunc",    "zext",     "sext",           "bitcast",       "getelementptr",
    "br",       "ret",      "freeze",         "extractvalue",  "insertvalue",
    "ptrtoint", "inttoptr", "alloca",         "unreachable",   "fneg",
    "phi",      "switch",   "extractelement", "insertelement", "landingpad",
    "resume"};

template <typename List>
bool is_one_of(const std::string& text, const List& list) {
  return std::any_of(std::begin(list), std::end(list),
                     [&text](const char* each) { return text == each; });
}

double bits_of(const std::string& type) {
  return type.size() > 1 && type[0] == 'i' ? std::atof(type.c_str() + 1)
                                           : 8.0 * bytes_of_type(type);
}

const FloatTime* float_time(const std::string& name) {
  const auto* const found =
      std::find_if(std::begin(kFloatTimes), std::end(kFloatTimes),
                   [&name](const FloatTime& each) { return name == each.opcode; });
  return found == std::end(kFloatTimes) ? nullptr : found;
}

// "llvm.sqrt.f32", "expf", "exp" to "sqrt", "exp", "exp".
std::string function_stem(std::string name) {
  if (name.starts_with("llvm.")) name = name.substr(5, name.find('.', 5) - 5);
  if (float_time(name) == nullptr && name.ends_with('f')) name.pop_back();
  return name;
}

OperatorTime of_float(const FloatTime& time, const IrInstruction& instruction, double clock_mhz) {
  const bool wide = instruction.type.find("double") != std::string::npos;
  const double fast = wide ? time.fast_double : time.fast_float;
  const double slow = wide ? time.slow_double : time.slow_float;
  const double share =
      (std::clamp(clock_mhz, kSlowMhz, kFastMhz) - kSlowMhz) / (kFastMhz - kSlowMhz);
  return {std::round(slow + (fast - slow) * share), 0, true};
}

OperatorTime of_integer(const IrInstruction& instruction, bool& known) {
  const std::string& op = instruction.opcode;
  const double bits = bits_of(instruction.type);
  const bool by_constant = instruction.operands.size() < 2;
  known = true;
  if (op == "add" || op == "sub") return {0, 0.6 + 0.013 * bits, true};
  if (op == "icmp") return {0, 0.5 + 0.006 * bits, true};
  if (op == "select") return {0, 0.731, true};
  if (op == "and" || op == "or" || op == "xor") return {0, 0.3, true};
  if (op == "shl" || op == "lshr" || op == "ashr") return {0, by_constant ? 0 : 1.2, true};
  if (op == "mul") return {bits > 32 && !by_constant ? 3.0 : 1.0, 0, true};
  if (op == "sdiv" || op == "udiv" || op == "srem" || op == "urem") {
    return {by_constant ? 3 : bits + 4, 0, true};
  }
  known = false;
  return {};
}

OperatorTime of_call(const IrInstruction& instruction, double clock_mhz) {
  switch (library_function(instruction.callee)) {
    case Library::kStreamRead:
    case Library::kStreamWrite:
    case Library::kStreamTest:
      return {0, 1.14, true};
    case Library::kWide:
      return {0, 1.2, true};
    case Library::kNone:
      break;
    default:
      return {};
  }
  const std::string stem = function_stem(instruction.callee);
  if (const FloatTime* const time = float_time(stem))
    return of_float(*time, instruction, clock_mhz);
  for (const char* cheap : {"llvm.fabs", "llvm.smax", "llvm.smin", "llvm.umax", "llvm.umin",
                            "llvm.abs", "llvm.ctpop", "llvm.ctlz", "llvm.cttz", "llvm.bswap",
                            "llvm.fshl", "llvm.fshr", "llvm.bitreverse", "llvm.copysign", "fabs"}) {
    if (instruction.callee.starts_with(cheap)) return {0, 1.0, true};
  }
  if (stem == "floor" || stem == "ceil" || stem == "fmax" || stem == "fmin" || stem == "round" ||
      stem == "maxnum" || stem == "minnum") {
    return {1, 0, true};
  }
  return {0, 0, false};
}

// Members of ap_int, ap_fixed and what they are made of, and operators between them.
bool is_wide(const std::string& name) {
  if (!name.starts_with("_Z") || name.size() < 4) return false;
  if (name[2] == 'N') {
    const size_t length = name.find_first_not_of("NKV", 2);
    const size_t begin = name.find_first_not_of("0123456789", length);
    return begin != std::string::npos && name.compare(begin, 3, "ap_") == 0;
  }
  return std::islower(static_cast<unsigned char>(name[2])) != 0 &&
         name.find("ap_") != std::string::npos;
}

}  // namespace

bool is_call(const IrInstruction& instruction) {
  return instruction.opcode == "call" || instruction.opcode == "invoke";
}

std::vector<std::pair<std::string, bool>> callees(const IrInstruction& call) {
  std::vector<std::pair<std::string, bool>> names;
  if (call.callee.starts_with("tandem_region_start")) {
    for (const std::string& name : call.globals) names.emplace_back(name.substr(1), true);
  } else if (library_function(call.callee) == Library::kNone) {
    names.emplace_back(call.callee, false);
  }
  return names;
}

double usable_ns(double clock_mhz) { return 1000.0 / clock_mhz * 0.73; }

OperatorTime operator_time(const IrInstruction& instruction, double clock_mhz) {
  const bool fast = clock_mhz > 200;
  const std::string& op = instruction.opcode;
  if (op == "call" || op == "invoke") return of_call(instruction, clock_mhz);
  if (op == "load") return {1, 1.237, true};
  if (op == "store") return {};
  if (const FloatTime* const time = float_time(op)) return of_float(*time, instruction, clock_mhz);
  if (is_one_of(op, kConversions)) return {fast ? 5.0 : 3.0, 0, true};
  if (is_one_of(op, kFree)) return {};
  bool known = false;
  OperatorTime time = of_integer(instruction, known);
  time.known = known;
  return time;
}

Library library_function(const std::string& name) {
  const auto is_stream = [&name](const char* method) {
    return name.find("hls6stream") != std::string::npos && name.find(method) != std::string::npos;
  };
  if (is_stream("E4readE") || is_stream("E7read_nbE")) return Library::kStreamRead;
  if (is_stream("E5writeE") || is_stream("E8write_nbE")) return Library::kStreamWrite;
  if (is_stream("E5emptyE") || is_stream("E4fullE")) return Library::kStreamTest;
  for (const char* each : {"memcpy", "memmove", "llvm.memcpy", "llvm.memmove"}) {
    if (name == each || name.starts_with(std::string(each) + ".")) return Library::kCopy;
  }
  if (is_wide(name)) return Library::kWide;
  if (name == "memset" || name.starts_with("llvm.memset")) return Library::kFill;
  for (const char* each : {"llvm.lifetime", "llvm.dbg",       "llvm.assume",  "llvm.experimental",
                           "llvm.stack",    "llvm.eh",        "tandem_",      "_ZN10tandem_hls",
                           "_ZNSt",         "_ZSt",           "_ZNKSt",       "_Znwm",
                           "_ZdlPv",        "_ZN3hls6stream", "_ZN3hls4task", "__cxa",
                           "__clang",       "printf",         "puts",         "putchar",
                           "_ZN9__gnu",     "strlen"}) {
    if (name.starts_with(each)) return Library::kIgnored;
  }
  return Library::kNone;
}

}  // namespace tandem::timing
