// SPDX-License-Identifier: Apache-2.0
//
// What Debian's libraries leak, for the leak detector of the address sanitizer. Linked into every
// unit test of a sanitized build.
//
// gloo: CreateDeviceAttr() keeps the list of interfaces, and a RedisStore whose constructor throws
// keeps its connection. PoCL: its compiler keeps memory until the process ends. NVRTC
// keeps the reserve of its own C++ library.

extern "C" const char* __lsan_default_suppressions();

extern "C" const char* __lsan_default_suppressions() {
  return "leak:gloo::transport::tcp::CreateDeviceAttr\n"
         "leak:libhiredis.so\n"
         "leak:libLLVM\n"
         "leak:libclang\n"
         "leak:libpocl\n"
         "leak:libnvrtc.so\n";
}
