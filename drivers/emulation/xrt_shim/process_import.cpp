// SPDX-License-Identifier: Apache-2.0
//
// Importing a buffer from the export handle of another process, named by its id.
//
// The handle is fetched with pidfd_getfd, which the system allows as it allows to trace that
// process (the same user, and Yama's ptrace_scope); where it does not, sending the handle over a
// Unix socket always works.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>

#include "emulation/protocol/pidfd.h"
#include "emulation/xrt_shim/device_handle.h"
#include "emulation/xrt_shim/report.h"
#include "emulation/xrt_shim/xrt_internal.h"

namespace xrt_core {

xclBufferHandle ishim::import_bo(pid_t process, xclBufferExportHandle exported) {
  using tandem::emulation::DeviceHandle;
  const int process_descriptor = pidfd_open(process, 0);
  const int handle = process_descriptor < 0 ? -1 : pidfd_getfd(process_descriptor, exported, 0);
  const int code = errno;
  if (process_descriptor >= 0) close(process_descriptor);
  if (handle < 0) {
    throw std::system_error(code, std::generic_category(),
                            "cannot take export handle " + std::to_string(exported) +
                                " from process " + std::to_string(process) +
                                "; the system must allow to trace it (kernel.yama.ptrace_scope)");
  }
  const xclBufferHandle buffer = xclImportBO(DeviceHandle::of(this), handle, 0);
  close(handle);
  if (buffer == XRT_NULL_BO) {
    throw std::system_error(
        EINVAL, std::generic_category(),
        "no buffer behind the export handle of process " + std::to_string(process));
  }
  return buffer;
}

}  // namespace xrt_core
