// SPDX-License-Identifier: Apache-2.0
//
// A plugin of g++ that v++ loads for the checked copy of a kernel; see loop_version.h.
#include "bitstreams/compiler/loop_checks/gcc_headers.h"
#include "bitstreams/compiler/loop_checks/loop_version.h"
#include "bitstreams/compiler/loop_checks/private_variables.h"

__attribute__((visibility("default"))) int plugin_is_GPL_compatible;  // the Apache licence is

namespace tandem::loop_checks {
namespace {

const pass_data kPassData = {
    GIMPLE_PASS, "tandem_loops", OPTGROUP_LOOP, TV_NONE, PROP_cfg | PROP_ssa, 0, 0, 0, 0};

class LoopChecksPass : public gimple_opt_pass {
 public:
  explicit LoopChecksPass(gcc::context* context) : gimple_opt_pass(kPassData, context) {}
  bool gate(function*) final { return (flag_sanitize & SANITIZE_KERNEL_ADDRESS) != 0; }
  unsigned execute(function*) final { return version_loops() ? TODO_cleanup_cfg : 0; }
};

const pass_data kPrivateData = {
    GIMPLE_PASS, "tandem_private", OPTGROUP_NONE, TV_NONE, PROP_cfg | PROP_ssa, 0, 0, 0, 0};

class PrivateVariablesPass : public gimple_opt_pass {
 public:
  explicit PrivateVariablesPass(gcc::context* context) : gimple_opt_pass(kPrivateData, context) {}
  bool gate(function*) final { return (flag_sanitize & SANITIZE_KERNEL_ADDRESS) != 0; }
  unsigned execute(function*) final {
    return drop_private_checks() ? TODO_update_address_taken | TODO_update_ssa : 0;
  }
};

void add_pass(const char* plugin, gimple_opt_pass* pass, const char* after) {
  register_pass_info info = {pass, after, 1, PASS_POS_INSERT_AFTER};
  register_callback(plugin, PLUGIN_PASS_MANAGER_SETUP, nullptr, &info);
}

}  // namespace
}  // namespace tandem::loop_checks

__attribute__((visibility("default"))) int plugin_init(plugin_name_args* plugin,
                                                       plugin_gcc_version* version) {
  if (!plugin_default_version_check(version, &gcc_version)) return 1;
  using namespace tandem::loop_checks;
  add_pass(plugin->base_name, new LoopChecksPass(g), "loopinit");
  // Variables without checks are values again, as without this plugin. The last one comes first.
  add_pass(plugin->base_name, make_pass_sra(g), "asan");
  add_pass(plugin->base_name, new PrivateVariablesPass(g), "asan");
  return 0;
}
