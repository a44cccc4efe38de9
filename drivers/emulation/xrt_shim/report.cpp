// SPDX-License-Identifier: Apache-2.0
//
// Messages go to XRT's dispatcher with the tag TANDEM; it prints to the console unless xrt.ini says
// otherwise.
#include "emulation/xrt_shim/report.h"

#include <experimental/xrt_message.h>

namespace tandem::emulation {

void report_error(const std::string& text) {
  xrt::message::log(xrt::message::level::error, "TANDEM", text);
}

void report_warning(const std::string& text) {
  xrt::message::log(xrt::message::level::warning, "TANDEM", text);
}

}  // namespace tandem::emulation
