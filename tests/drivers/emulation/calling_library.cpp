// SPDX-License-Identifier: Apache-2.0
//
// A library with a call that call_table_test.cpp replaces.
#include <cstdlib>

extern "C" __attribute__((visibility("default"))) const char* value_of(const char* name);
extern "C" const char* value_of(const char* name) { return std::getenv(name); }
