// SPDX-License-Identifier: Apache-2.0
//
// Chooses by the argument's stated type, then by what the Python value can be.
#include "emulation/python/scalar_argument.h"

#include <cstring>

namespace tandem::emulation {
namespace {

namespace py = pybind11;

template <typename T>
std::vector<char> bytes_of(T value) {
  std::vector<char> bytes(sizeof(T));
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

std::vector<char> integer_bytes(const py::handle& value, const ArgumentForm& form) {
  const auto number = py::reinterpret_steal<py::object>(PyNumber_Index(value.ptr()));
  if (!number) throw py::error_already_set();
  const bool negative = number < py::int_(0);
  try {
    const auto bytes = number.attr("to_bytes")(form.bytes, "little", py::arg("signed") = negative);
    const std::string text = bytes.cast<py::bytes>();
    return {text.begin(), text.end()};
  } catch (py::error_already_set& error) {
    if (!error.matches(PyExc_OverflowError)) throw;
    throw py::value_error("argument '" + form.name + "' has " + std::to_string(form.bytes) +
                          " bytes; " + py::str(number).cast<std::string>() + " does not fit");
  }
}

std::vector<char> buffer_bytes(const py::handle& value, const ArgumentForm& form) {
  const py::buffer_info info = py::reinterpret_borrow<py::buffer>(value).request();
  const auto size = static_cast<std::size_t>(info.size * info.itemsize);
  if (size != form.bytes) {
    throw py::value_error("argument '" + form.name + "' has " + std::to_string(form.bytes) +
                          " bytes, not " + std::to_string(size));
  }
  const auto* first = static_cast<const char*>(info.ptr);
  return {first, first + size};
}

}  // namespace

std::vector<char> scalar_bytes(const py::handle& value, const ArgumentForm& form) {
  const bool is_float = form.type == "float" && form.bytes == sizeof(float);
  const bool is_double = form.type == "double" && form.bytes == sizeof(double);
  if ((is_float || is_double) && PyNumber_Check(value.ptr()) != 0) {
    const double number = PyFloat_AsDouble(value.ptr());
    if (PyErr_Occurred() != nullptr) throw py::error_already_set();
    return is_float ? bytes_of(static_cast<float>(number)) : bytes_of(number);
  }
  if (PyIndex_Check(value.ptr()) != 0) return integer_bytes(value, form);
  if (PyObject_CheckBuffer(value.ptr()) != 0) return buffer_bytes(value, form);
  throw py::type_error("argument '" + form.name + "' is of type " + form.type + "; a Python " +
                       Py_TYPE(value.ptr())->tp_name + " cannot be its value");
}

}  // namespace tandem::emulation
