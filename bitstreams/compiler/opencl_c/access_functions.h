// SPDX-License-Identifier: Apache-2.0
//
// The functions, as text of IR, that access_marks.h calls before accesses of one type. Calls are
// made where there is something to tell or to note only. `opaque`: the form of pointers. Pure.
#pragma once

#include <cstddef>
#include <string>

namespace tandem::opencl_c {

constexpr const char* kUnchecked = ", !nosanitize !{}";

// tandem_cl_state_<number>(states, where): stores the states of a value.
std::string state_function(const std::string& type, std::size_t number, bool opaque);
// tandem_cl_atomic_<number>(where).
std::string atomic_function(const std::string& type, std::size_t number, bool opaque);
// tandem_cl_touch_<number>(where): of memory that work-items may share.
std::string touch_function(const std::string& type, bool writes, std::size_t number, bool opaque);
// tandem_cl_check_<number>(where): whether the access may be done.
std::string check_function(const std::string& type, bool writes, std::size_t number, bool opaque);
// tandem_cl_within_<number>(where, object): the same for an access to an object of known type.
struct ObjectAccess {
  std::string type;
  bool writes = false;
  std::string object;
};
std::string within_function(const ObjectAccess& access, std::size_t number, bool opaque);
std::string check_declarations(bool opaque);
// tandem_cl_known(number): whether the argument has a value, by the states that
// MemorySanitizer's pass hands over with it.
std::string known_function(bool opaque);

}  // namespace tandem::opencl_c
