// SPDX-License-Identifier: Apache-2.0
//
// The Python module pyxrt: XRT's public classes for Python programs, over XRT's C++ library.
//
// Names, enumerations and signatures are those of XRT's own module. The interpreter's lock is free
// while a call waits for a card. bo.map() gives a memoryview that keeps its buffer. Errors of XRT
// are Python's RuntimeError. A scalar that does not fit its argument is a ValueError or TypeError.
#include <dlfcn.h>
#include <experimental/xrt_message.h>
#include <experimental/xrt_system.h>
#include <experimental/xrt_xclbin.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/stl_bind.h>
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <chrono>
#include <map>
#include <utility>

#include "emulation/protocol/run_calls.h"
#include "emulation/python/scalar_argument.h"

PYBIND11_MAKE_OPAQUE(std::vector<xrt::xclbin::ip>);
PYBIND11_MAKE_OPAQUE(std::vector<xrt::xclbin::kernel>);
PYBIND11_MAKE_OPAQUE(std::vector<xrt::xclbin::mem>);

namespace tandem::emulation {
namespace {

namespace py = pybind11;
using Released = py::call_guard<py::gil_scoped_release>;

// The arguments of the kernels of all xclbins that this process has loaded, by uuid and name.
std::map<std::pair<std::string, std::string>, std::vector<ArgumentForm>>& known_arguments() {
  static std::map<std::pair<std::string, std::string>, std::vector<ArgumentForm>> arguments;
  return arguments;
}

void remember_arguments(const xrt::xclbin& xclbin) {
  for (const xrt::xclbin::kernel& kernel : xclbin.get_kernels()) {
    std::vector<ArgumentForm> forms;
    for (const xrt::xclbin::arg& argument : kernel.get_args()) {
      forms.push_back({argument.get_name(), argument.get_host_type(), argument.get_size()});
    }
    known_arguments()[{xclbin.get_uuid().to_string(), kernel.get_name()}] = std::move(forms);
  }
}

xrt::uuid load(xrt::device& device, const xrt::xclbin& xclbin) {
  xrt::uuid uuid;
  {
    const py::gil_scoped_release release;
    uuid = device.load_xclbin(xclbin);
  }
  remember_arguments(xclbin);
  return uuid;
}

struct Kernel {
  using Access = xrt::kernel::cu_access_mode;
  Kernel(const xrt::device& device, const xrt::uuid& uuid, const std::string& name, Access access) {
    const auto found = known_arguments().find({uuid.to_string(), name.substr(0, name.find(':'))});
    if (found != known_arguments().end()) forms = found->second;
    const py::gil_scoped_release release;
    kernel = xrt::kernel(device, uuid, name, access);
  }
  xrt::kernel kernel;
  std::vector<ArgumentForm> forms;
};

// A finding, if the cards are checked.
void tell_refused(const xrt::run& run, int index, const char* why) {
  void* const shim = dlopen("libxrt_core.so.2", RTLD_LAZY | RTLD_NOLOAD);
  void* const address = shim == nullptr || !run ? nullptr : dlsym(shim, kRunCallsFunction);
  if (address == nullptr) return;
  const RunCalls* const calls = reinterpret_cast<RunCallsFunction*>(address)();
  if (calls != nullptr) calls->set(run.get_ert_packet(), index, {}, why);
}

struct Run {
  Run() = default;
  explicit Run(const Kernel& of) : run(of.kernel), forms(of.forms) {}

  void set(int index, const py::handle& value) {
    try {
      pass(index, value);
    } catch (const std::exception& error) {
      tell_refused(run, index, error.what());
      throw;
    }
  }

  xrt::run run;
  std::vector<ArgumentForm> forms;

 private:
  void pass(int index, const py::handle& value) {
    if (py::isinstance<xrt::bo>(value)) {
      run.set_arg(index, value.cast<const xrt::bo&>());
      return;
    }
    ArgumentForm form{std::to_string(index), "int", sizeof(int)};
    if (!forms.empty()) {
      const auto at = static_cast<std::size_t>(index);
      if (at >= forms.size()) {
        throw py::index_error("the kernel has " + std::to_string(forms.size()) + " arguments");
      }
      form = forms[at];
    }
    if (form.type.find('*') != std::string::npos) {
      throw py::type_error("argument '" + form.name + "' is a pointer; give it a pyxrt.bo");
    }
    const std::vector<char> bytes = scalar_bytes(value, form);
    const void* const first = bytes.data();
    run.set_arg(index, first, bytes.size());
  }
};

Run call(const Kernel& kernel, const py::args& arguments) {
  Run run(kernel);
  int index = 0;
  for (const py::handle& value : arguments) run.set(index++, value);
  const py::gil_scoped_release release;
  run.run.start();
  return run;
}

template <xrt::info::device Key>
std::string information(const xrt::device& device) {
  const auto value = device.get_info<Key>();
  if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string>) {
    return value;
  } else if constexpr (std::is_same_v<std::decay_t<decltype(value)>, xrt::uuid>) {
    return value.to_string();
  } else {
    return std::to_string(value);
  }
}

// Adds a key of get_info() to the enumeration and to the table that get_info() looks it up in.
class InformationKeys {
 public:
  explicit InformationKeys(const py::module_& module)
      : names_(module, "xrt_info_device", "What device.get_info() can tell") {}
  template <xrt::info::device Key>
  InformationKeys& add(const char* name) {
    names_.value(name, Key);
    table()[Key] = information<Key>;
    return *this;
  }
  static std::string text(const xrt::device& device, xrt::info::device key) {
    return table().at(key)(device);
  }

 private:
  static std::map<xrt::info::device, std::string (*)(const xrt::device&)>& table() {
    static std::map<xrt::info::device, std::string (*)(const xrt::device&)> functions;
    return functions;
  }
  py::enum_<xrt::info::device> names_;
};

void bind_information(const py::module_& module) {
  using xrt::info::device;
  InformationKeys(module)
      .add<device::bdf>("bdf")
      .add<device::interface_uuid>("interface_uuid")
      .add<device::kdma>("kdma")
      .add<device::max_clock_frequency_mhz>("max_clock_frequency_mhz")
      .add<device::m2m>("m2m")
      .add<device::name>("name")
      .add<device::nodma>("nodma")
      .add<device::offline>("offline")
      .add<device::electrical>("electrical")
      .add<device::thermal>("thermal")
      .add<device::mechanical>("mechanical")
      .add<device::memory>("memory")
      .add<device::platform>("platform")
      .add<device::pcie_info>("pcie_info")
      .add<device::host>("host")
      .add<device::dynamic_regions>("dynamic_regions")
      .add<device::vmr>("vmr");
}

void bind_enumerations(py::module_& module) {
  module.attr("XCL_BO_FLAGS_NONE") = py::int_(XCL_BO_FLAGS_NONE);
  py::enum_<xclBOSyncDirection>(module, "xclBOSyncDirection", "Direction of bo.sync()")
      .value("XCL_BO_SYNC_BO_TO_DEVICE", XCL_BO_SYNC_BO_TO_DEVICE)
      .value("XCL_BO_SYNC_BO_FROM_DEVICE", XCL_BO_SYNC_BO_FROM_DEVICE)
      .value("XCL_BO_SYNC_BO_GMIO_TO_AIE", XCL_BO_SYNC_BO_GMIO_TO_AIE)
      .value("XCL_BO_SYNC_BO_AIE_TO_GMIO", XCL_BO_SYNC_BO_AIE_TO_GMIO);
  py::enum_<ert_cmd_state>(module, "ert_cmd_state", "State of a run")
      .value("ERT_CMD_STATE_NEW", ERT_CMD_STATE_NEW)
      .value("ERT_CMD_STATE_QUEUED", ERT_CMD_STATE_QUEUED)
      .value("ERT_CMD_STATE_COMPLETED", ERT_CMD_STATE_COMPLETED)
      .value("ERT_CMD_STATE_ERROR", ERT_CMD_STATE_ERROR)
      .value("ERT_CMD_STATE_ABORT", ERT_CMD_STATE_ABORT)
      .value("ERT_CMD_STATE_SUBMITTED", ERT_CMD_STATE_SUBMITTED)
      .value("ERT_CMD_STATE_TIMEOUT", ERT_CMD_STATE_TIMEOUT)
      .value("ERT_CMD_STATE_NORESPONSE", ERT_CMD_STATE_NORESPONSE)
      .value("ERT_CMD_STATE_SKERROR", ERT_CMD_STATE_SKERROR)
      .value("ERT_CMD_STATE_SKCRASHED", ERT_CMD_STATE_SKCRASHED);
  using xrt::message::level;
  py::enum_<level>(module, "xrt_msg_level", "Level of log_message()")
      .value("emergency", level::emergency)
      .value("alert", level::alert)
      .value("critical", level::critical)
      .value("error", level::error)
      .value("warning", level::warning)
      .value("notice", level::notice)
      .value("info", level::info)
      .value("debug", level::debug)
      .export_values();
}

void bind_device(py::module_& module) {
  py::class_<xrt::uuid>(module, "uuid", "Identity of an xclbin")
      .def(py::init<const std::string&>())
      .def("to_string", &xrt::uuid::to_string)
      .def("__str__", &xrt::uuid::to_string)
      .def("__eq__", [](const xrt::uuid& a, const xrt::uuid& b) { return a == b; });
  py::class_<xrt::device>(module, "device", "A card")
      .def(py::init<>())
      .def(py::init<unsigned int>(), py::arg("index"), Released())
      .def(py::init<const std::string&>(), py::arg("bdf"), Released())
      .def("load_xclbin", [](xrt::device& device,
                             const std::string& path) { return load(device, xrt::xclbin(path)); })
      .def("load_xclbin", load)
      .def("get_xclbin_uuid", &xrt::device::get_xclbin_uuid)
      .def("get_info", InformationKeys::text);
}

void bind_kernel(py::module_& module) {
  py::class_<Kernel> kernel(module, "kernel", "The compute units of one name");
  py::enum_<Kernel::Access>(kernel, "cu_access_mode")
      .value("exclusive", Kernel::Access::exclusive)
      .value("shared", Kernel::Access::shared)
      .value("none", Kernel::Access::none)
      .export_values();
  kernel
      .def(py::init<const xrt::device&, const xrt::uuid&, const std::string&, Kernel::Access>(),
           py::arg("device"), py::arg("uuid"), py::arg("name"),
           py::arg("mode") = Kernel::Access::shared)
      .def("__call__", call)
      .def("group_id", [](const Kernel& of, int index) { return of.kernel.group_id(index); });

  py::class_<Run>(module, "run", "One execution of a kernel")
      .def(py::init<>())
      .def(py::init<const Kernel&>())
      .def(
          "start", [](Run& run) { run.run.start(); }, Released())
      .def("set_arg", &Run::set)
      .def(
          "wait", [](const Run& run) { return run.run.wait(); }, Released())
      .def(
          "wait", [](const Run& run, unsigned int ms) { return run.run.wait(ms); }, Released())
      .def(
          "abort", [](Run& run) { return run.run.abort(); }, Released())
      .def("state", [](const Run& run) { return run.run.state(); });
}

void write_bytes(xrt::bo& buffer, const py::buffer& data, std::size_t seek) {
  const py::buffer_info info = data.request();
  if (PyBuffer_IsContiguous(info.view(), 'C') == 0) {
    throw py::value_error("bo.write() needs contiguous data");
  }
  buffer.write(info.ptr, static_cast<std::size_t>(info.itemsize * info.size), seek);
}

py::array_t<char> read_bytes(xrt::bo& buffer, std::size_t size, std::size_t skip) {
  py::array_t<char> result(static_cast<py::ssize_t>(size));
  buffer.read(result.mutable_data(), size, skip);
  return result;
}

// The interpreter calls this for memoryview(bo), so no exception may pass it.
int host_copy(PyObject* self, Py_buffer* view, int flags) {
  std::string reason;
  try {
    auto& buffer = py::handle(self).cast<xrt::bo&>();
    return PyBuffer_FillInfo(view, self, buffer.map(), static_cast<py::ssize_t>(buffer.size()), 0,
                             flags);
  } catch (const std::exception& error) {
    reason = error.what();
  }
  view->obj = nullptr;
  PyErr_SetString(PyExc_BufferError, ("this buffer has no host copy to view: " + reason).c_str());
  return -1;
}

void bind_buffer(py::module_& module) {
  using Flags = xrt::bo::flags;
  py::class_<xrt::bo> buffer(module, "bo", py::buffer_protocol(), "A buffer of a card");
  py::enum_<Flags>(buffer, "flags")
      .value("normal", Flags::normal)
      .value("cacheable", Flags::cacheable)
      .value("device_only", Flags::device_only)
      .value("host_only", Flags::host_only)
      .value("p2p", Flags::p2p)
      .value("svm", Flags::svm)
      .export_values();
  buffer
      .def(py::init<xrt::device, std::size_t, Flags, xrt::memory_group>(), py::arg("device"),
           py::arg("size"), py::arg("flags"), py::arg("group"), Released())
      .def(py::init<xrt::bo, std::size_t, std::size_t>(), "A part: parent, size, offset")
      .def("write", write_bytes)
      .def("read", read_bytes)
      .def(
          "sync",
          [](xrt::bo& of, xclBOSyncDirection direction, std::size_t size, std::size_t offset) {
            of.sync(direction, size, offset);
          },
          Released())
      .def(
          "sync", [](xrt::bo& of, xclBOSyncDirection direction) { of.sync(direction); }, Released())
      .def("map",
           [](const py::object& self) {
             static_cast<void>(self.cast<xrt::bo&>().map());  // its error, if there is no host copy
             return py::reinterpret_steal<py::object>(PyMemoryView_FromObject(self.ptr()));
           })
      .def("size", &xrt::bo::size)
      .def("address", &xrt::bo::address);
  PyBufferProcs* views = reinterpret_cast<PyTypeObject*>(buffer.ptr())->tp_as_buffer;
  views->bf_getbuffer = host_copy;
  views->bf_releasebuffer = nullptr;
}

void bind_xclbin(py::module_& module) {
  py::class_<xrt::xclbin> xclbin(module, "xclbin", "A bitstream file");
  py::class_<xrt::xclbin::ip>(xclbin, "xclbinip")
      .def(py::init<>())
      .def("get_name", &xrt::xclbin::ip::get_name);
  py::class_<xrt::xclbin::kernel>(xclbin, "xclbinkernel")
      .def(py::init<>())
      .def("get_name", &xrt::xclbin::kernel::get_name)
      .def("get_num_args", &xrt::xclbin::kernel::get_num_args);
  py::class_<xrt::xclbin::mem>(xclbin, "xclbinmem")
      .def(py::init<>())
      .def("get_tag", &xrt::xclbin::mem::get_tag)
      .def("get_base_address", &xrt::xclbin::mem::get_base_address)
      .def("get_size_kb", &xrt::xclbin::mem::get_size_kb)
      .def("get_used", &xrt::xclbin::mem::get_used)
      .def("get_index", &xrt::xclbin::mem::get_index);
  py::bind_vector<std::vector<xrt::xclbin::ip>>(module, "xclbinip_vector");
  py::bind_vector<std::vector<xrt::xclbin::kernel>>(module, "xclbinkernel_vector");
  py::bind_vector<std::vector<xrt::xclbin::mem>>(module, "xclbinmem_vector");
  xclbin.def(py::init<>())
      .def(py::init<const std::string&>())
      .def("get_kernels", &xrt::xclbin::get_kernels)
      .def("get_mems", &xrt::xclbin::get_mems)
      .def("get_xsa_name", &xrt::xclbin::get_xsa_name)
      .def("get_uuid", &xrt::xclbin::get_uuid);
}

}  // namespace

PYBIND11_MODULE(pyxrt, module) {
  module.doc() = "XRT's classes for Python";
  bind_enumerations(module);
  bind_information(module);
  module.def("enumerate_devices", xrt::system::enumerate_devices, "The number of cards");
  module.def("log_message", xrt::message::log, "Writes to XRT's log");
  bind_device(module);
  bind_buffer(module);
  bind_kernel(module);
  bind_xclbin(module);
}

}  // namespace tandem::emulation
