// SPDX-License-Identifier: Apache-2.0
//
// Leaks that the leak sanitizer ignores: PoCL's compiler keeps memory until the process ends.
//
// Linked into test programs that open OpenCL devices; without the sanitizer nothing calls it.
extern "C" const char* __lsan_default_suppressions();

extern "C" const char* __lsan_default_suppressions() {
  return "leak:libLLVM\nleak:libpocl\nleak:libclang\n";
}
