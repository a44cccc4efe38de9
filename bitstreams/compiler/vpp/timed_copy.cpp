// SPDX-License-Identifier: Apache-2.0
//
// clang makes IR without optimising it; functions that the model must find are marked; clang
// optimises without unrolling and vectorising, again if pipelined loops call functions; the model
// is made and counters are written in.
#include "bitstreams/compiler/vpp/timed_copy.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "bitstreams/compiler/compiler_process.h"
#include "bitstreams/compiler/dataflow/dataflow.h"
#include "bitstreams/compiler/timing/analysis.h"
#include "bitstreams/compiler/timing/inlined_functions.h"
#include "bitstreams/compiler/timing/instrument.h"
#include "bitstreams/xclbin/whole_file.h"

namespace tandem::vpp {
namespace {

constexpr const char* kStub =
    "\nextern \"C\" __attribute__((__weak__, __nodebug__, __visibility__(\"default\"))) void "
    "tandem_time_access(const char*, unsigned long*, unsigned long) {}\n"
    "extern \"C\" __attribute__((__weak__, __nodebug__, __visibility__(\"default\"))) void "
    "tandem_time_stream(const char*, unsigned long) {}\n";

std::vector<std::string> flags_for_clang(const std::vector<std::string>& flags) {
  std::vector<std::string> kept;
  for (const std::string& flag : flags) {
    const bool is_level = flag.starts_with("-O") || flag.starts_with("-g");
    if (!is_level && flag != "-fno-gnu-unique") kept.push_back(flag);
  }
  return kept;
}

// A product and a sum stay two operations: a sum waits for the one before, not for its product.
std::vector<std::string> plain_loops() {
  return {"-O1",          "-fno-unroll-loops", "-fno-vectorize", "-fno-slp-vectorize",
          "-fno-builtin", "-ffp-contract=off"};
}

std::vector<std::string> joined(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// IR without the kernel's small functions, and how clang goes on with it.
struct FlatIr {
  std::string stem, path;
  timing::KernelPragmas pragmas;
  std::vector<std::string> command;
  std::string failure;
};

timing::Analysis analyse_flat(const TimedSource& source, const FlatIr& flat) {
  return timing::analyse(timing::read_ir(xclbin::read_text(flat.path)), flat.pragmas, source.kernel,
                         source.clock_mhz);
}

// Which functions pipelined loops call is known when it is flat, so it may be made twice.
void optimise(const TimedSource& source, const FlatIr& flat) {
  const std::string raw = xclbin::read_text(flat.stem + ".raw.ll");
  std::set<std::string> inlined = timing::inlined_by_pragma(timing::read_ir(raw), flat.pragmas);
  const auto make = [&] {
    xclbin::write_text(flat.stem + ".ll", timing::keep_functions(raw, source.kernel, inlined));
    xclbin::run_tool(joined(flat.command, {"-S", "-emit-llvm", flat.stem + ".ll", "-o", flat.path}),
                     flat.failure);
  };
  make();
  const std::set<std::string> called =
      timing::inlined_into_pipelines(analyse_flat(source, flat).model);
  if (std::includes(inlined.begin(), inlined.end(), called.begin(), called.end())) return;
  inlined.insert(called.begin(), called.end());
  make();
}

FlatIr flatten(const TimedSource& source) {
  PreprocessJob job = source.job;
  job.compiler = source.clang;
  job.flags = flags_for_clang(job.flags);
  job.stem += ".timed";
  std::string text = source.complete(preprocess(job).text);
  FlatIr flat;
  flat.pragmas = timing::find_pragmas(text);
  text = xclbin::rewrite_dataflow(text);
  if (source.has_kernel) text += kStub;
  flat.stem = job.folder + "/" + job.stem;
  flat.failure = "no time model of " + source.kernel;
  xclbin::write_text(flat.stem + ".ii", text);
  // The text of a dataflow region is C++14.
  std::vector<std::string> command = joined({source.clang}, job.flags);
  for (std::string& flag : command) {
    const bool is_older = flag.ends_with("++11") || flag.ends_with("++0x");
    if (flag.starts_with("-std=") && is_older) flag = "-std=gnu++14";
  }
  command = joined(command, plain_loops());
  command =
      joined(command, {"-g", "-w", "-fno-discard-value-names", "-Xclang", "-disable-llvm-passes",
                       "-S", "-emit-llvm", flat.stem + ".ii", "-o", flat.stem + ".raw.ll"});
  xclbin::run_tool(command, flat.failure);
  flat.command = joined({source.clang, "-fPIC", "-w", "-x", "ir"}, plain_loops());
  flat.path = flat.stem + ".flat.ll";
  optimise(source, flat);
  return flat;
}

std::string compile_counting_ir(const TimedSource& source, const FlatIr& flat) {
  const std::string object = flat.stem + ".o";
  const timing::IrModule module = timing::read_ir(xclbin::read_text(flat.path));
  const std::string counting = timing::instrument(
      module, timing::analyse(module, flat.pragmas, source.kernel, source.clock_mhz),
      source.kernel);
  xclbin::write_text(flat.stem + ".counting.ll", counting);
  xclbin::run_tool(joined(flat.command, {"-c", flat.stem + ".counting.ll", "-o", object}),
                   flat.failure);
  return object;
}

// The name of a __local variable has its kernel's before it, but the model names arrays by what is
// before a dot: "@kernel.tile" becomes "@tile.kernel".
std::string with_names_of_arrays(const std::string& ir) {
  static const std::regex kLocal(R"(@([A-Za-z_]\w*)\.([A-Za-z_]\w*(?:\.\d+)?) = internal global)");
  std::map<std::string, std::string> names;
  std::istringstream lines(ir);
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (!line.starts_with('@') || !std::regex_search(line, match, kLocal)) continue;
    names["@" + match[1].str() + "." + match[2].str()] =
        "@" + match[2].str() + "." + match[1].str();
  }
  std::string out;
  for (size_t at = 0; at < ir.size();) {
    size_t end = at + 1;
    const auto in_name = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
    };
    while (ir[at] == '@' && end < ir.size() && in_name(ir[end])) ++end;
    const std::string word = ir.substr(at, end - at);
    const auto found = names.find(word);
    out += found == names.end() ? word : found->second;
    at = end;
  }
  return out;
}

}  // namespace

std::string find_timing_clang(const std::string& wanted) {
  if (!wanted.empty())
    return xclbin::accepts_flag(wanted, "-fno-discard-value-names") ? wanted : "";
  for (const char* name :
       {"clang", "clang-14", "clang-15", "clang-16", "clang-17", "clang-18", "clang-19"}) {
    if (xclbin::accepts_flag(name, "-fno-discard-value-names")) return name;
  }
  return {};
}

std::string timed_stubs() { return kStub; }

std::vector<std::string> timed_prefixes() {
  return {"tandem_time_model_", "tandem_time_counts_", "tandem_time_sites_"};
}

std::string compile_timed(const TimedSource& source) {
  const FlatIr flat = flatten(source);
  if (source.has_kernel) return compile_counting_ir(source, flat);
  const std::string object = flat.stem + ".o";
  xclbin::run_tool(joined(flat.command, {"-c", flat.path, "-o", object}), flat.failure);
  return object;
}

std::string compile_timed_ir(const TimedIr& ir) {
  TimedSource source;
  source.clang = ir.clang;
  source.kernel = ir.kernel;
  source.clock_mhz = ir.clock_mhz;
  source.has_kernel = true;
  FlatIr flat;
  flat.stem = ir.path + "." + ir.kernel;
  flat.path = flat.stem + ".flat.ll";
  flat.pragmas = ir.pragmas;
  flat.failure = "no time model of " + ir.kernel;
  flat.command = joined({source.clang, "-fPIC", "-w", "-x", "ir"}, plain_loops());
  xclbin::write_text(flat.stem + ".raw.ll", with_names_of_arrays(xclbin::read_text(ir.path)));
  optimise(source, flat);
  return compile_counting_ir(source, flat);
}

timing::Analysis analyse_timed(const TimedSource& source) {
  return analyse_flat(source, flatten(source));
}

std::string join_timed(const std::vector<std::string>& objects,
                       const std::vector<std::string>& kernels, const std::string& folder) {
  const std::string failure = "the timed copy of the kernel does not link";
  const std::string whole = folder + "/timed-joined.o";
  xclbin::join_objects(objects, whole, failure);
  std::vector<std::string> command = {"objcopy"};
  for (const std::string& kernel : kernels) {
    command.push_back("--redefine-sym=tandem_kernel_" + kernel + "=tandem_timed_" + kernel);
  }
  const std::string renamed = folder + "/timed-renamed.o";
  xclbin::run_tool(joined(command, {whole, renamed}), failure);
  const std::string timed = folder + "/timed.o";
  command = joined({"objcopy"}, timed_symbols(kernels));
  xclbin::run_tool(joined(command, {renamed, timed}), failure);
  return timed;
}

std::vector<std::string> timed_symbols(const std::vector<std::string>& kernels) {
  std::vector<std::string> options = {"--keep-global-symbol=tandem_time_access",
                                      "--keep-global-symbol=tandem_time_stream"};
  for (const std::string& kernel : kernels) {
    for (const char* name :
         {"tandem_timed_", "tandem_time_model_", "tandem_time_counts_", "tandem_time_sites_"}) {
      options.push_back("--keep-global-symbol=" + (name + kernel));
    }
  }
  return options;
}

}  // namespace tandem::vpp
