// SPDX-License-Identifier: Apache-2.0
//
// The plugin of clang: loop_version.h at the end of the optimisation.
#include "bitstreams/compiler/opencl_c/loops/loop_version.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Passes/PassPlugin.h"
#include "llvm/Transforms/Utils/LCSSA.h"
#include "llvm/Transforms/Utils/LoopSimplify.h"

namespace tandem::opencl_loops {
namespace {

struct VersionLoops : llvm::PassInfoMixin<VersionLoops> {
  static llvm::PreservedAnalyses run(llvm::Function& function,
                                     llvm::FunctionAnalysisManager& analyses) {
    const bool is_checked = function.hasFnAttribute(llvm::Attribute::SanitizeMemory);
    return is_checked && version_loops(function, analyses) ? llvm::PreservedAnalyses::none()
                                                           : llvm::PreservedAnalyses::all();
  }
};

void add_pass(llvm::ModulePassManager& passes) {
  llvm::FunctionPassManager each;
  each.addPass(llvm::LoopSimplifyPass());
  each.addPass(llvm::LCSSAPass());
  each.addPass(VersionLoops());
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(each)));
}

}  // namespace
}  // namespace tandem::opencl_loops

extern "C" __attribute__((visibility("default"))) llvm::PassPluginLibraryInfo
llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "tandem-opencl-loops", "1", [](llvm::PassBuilder& builder) {
            builder.registerOptimizerLastEPCallback([](llvm::ModulePassManager& passes, auto) {
              tandem::opencl_loops::add_pass(passes);
            });
          }};
}
