// SPDX-License-Identifier: Apache-2.0
//
// A Python value as the bytes of a kernel's scalar argument.
//
// The xclbin states each argument's size and type: an int must be in the range of its size (signed
// or unsigned), a float is for "float" and "double", and an object with a buffer must have exactly
// the argument's size. Everything else throws an error of Python with the argument's name. The
// caller holds the interpreter's lock.
#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>
#include <string>
#include <vector>

namespace tandem::emulation {

struct ArgumentForm {
  std::string name;
  std::string type;  // as the host writes it: "int", "float", "int*"
  std::size_t bytes = 4;
};

std::vector<char> scalar_bytes(const pybind11::handle& value, const ArgumentForm& form);

}  // namespace tandem::emulation
