// SPDX-License-Identifier: Apache-2.0
//
// What the leak sanitizer leaves out: memory that PoCL's compiler keeps until the process ends.
//
// Linked into test programs that open OpenCL devices; without the sanitizer nobody calls it.
extern "C" const char* __lsan_default_suppressions();

extern "C" const char* __lsan_default_suppressions() {
  return "leak:libLLVM\nleak:libpocl\nleak:libclang\n";
}
