// SPDX-License-Identifier: Apache-2.0
//
// The settings of the HLS compiler that change a kernel's registers (counted auto restart, mailbox,
// software reset) or the way in which arguments share memory ports.
//
// Settings come from Tcl scripts (hls.pre_tcl: "config_interface -s_axilite_mailbox both") and from
// keys (hls.syn.interface.s_axilite_mailbox=both). Other commands of a script concern synthesis and
// have no effect. Errors: Error("v++", ...) naming file and line, or the setting. Threads: any.
// Source: the vendor's HLS user guide, config_interface and auto-restarting kernels.
#pragma once

#include <cstdint>
#include <string>

#include "bitstreams/compiler/vpp/kernel_object.h"

namespace tandem::vpp {

struct HlsSettings {
  uint32_t restart_counters = 0;
  Mailbox mailbox = Mailbox::kNone;
  bool software_reset = false;
  // m_axi_auto_max_ports: each argument without a bundle has its own port
  bool separate_ports = false;

  // Whether registers of the control interface come before the arguments.
  bool has_control_registers() const { return restart_counters > 0 || mailbox != Mailbox::kNone; }
};

// Reads a script's text; `file_name` for messages.
void read_hls_script(const std::string& text, const std::string& file_name, HlsSettings& result);
// Reads "syn.interface.<key>=value"; false for an unknown key. `where` is for messages.
bool read_hls_key(const std::string& key, const std::string& value, const std::string& where,
                  HlsSettings& result);

}  // namespace tandem::vpp
