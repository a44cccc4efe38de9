// SPDX-License-Identifier: Apache-2.0
//
// A plugin of g++ that v++ loads for the checked copy of a kernel; see loop_version.h,
// unset_variables.h, unset_memory.h, library_stores.h, store_checks.h and complex_parts.h.
#include "bitstreams/compiler/loop_checks/complex_parts.h"
#include "bitstreams/compiler/loop_checks/gcc_headers.h"
#include "bitstreams/compiler/loop_checks/library_stores.h"
#include "bitstreams/compiler/loop_checks/loop_version.h"
#include "bitstreams/compiler/loop_checks/private_variables.h"
#include "bitstreams/compiler/loop_checks/pure_calls.h"
#include "bitstreams/compiler/loop_checks/store_checks.h"
#include "bitstreams/compiler/loop_checks/unset_memory.h"
#include "bitstreams/compiler/loop_checks/unset_variables.h"

__attribute__((visibility("default"))) int plugin_is_GPL_compatible;  // the Apache licence is

namespace tandem::loop_checks {
namespace {

// A pass over a function of the checked copy.
class CheckPass : public gimple_opt_pass {
 public:
  CheckPass(const char* name, unsigned (*run)())
      : gimple_opt_pass(
            {GIMPLE_PASS, name, OPTGROUP_NONE, TV_NONE, PROP_cfg | PROP_ssa, 0, 0, 0, 0}, g),
        run_(run) {}
  bool gate(function*) final { return (flag_sanitize & SANITIZE_KERNEL_ADDRESS) != 0; }
  unsigned execute(function*) final { return run_(); }

 private:
  unsigned (*const run_)();
};

// They return what g++ must do next.
unsigned split_loops() { return version_loops() ? TODO_cleanup_cfg : 0; }
unsigned drop_private() {
  return drop_private_checks() ? TODO_update_address_taken | TODO_update_ssa : 0;
}
unsigned check_stores() {
  const bool has_library_stores = check_library_stores(), has_parts = check_complex_parts();
  return check_all_stores() || has_library_stores || has_parts ? TODO_update_ssa : 0;
}
unsigned check_values() {
  note_function();
  return check_unset_values() ? TODO_update_ssa : 0;
}
unsigned follow_loads() {
  const bool is_marked = mark_scopes_from_entry();
  return follow_unset_loads() || is_marked ? TODO_update_ssa : 0;
}

void add_pass(const char* plugin, gimple_opt_pass* pass, const char* other,
              pass_positioning_ops position = PASS_POS_INSERT_AFTER) {
  register_pass_info info = {pass, other, 1, position};
  register_callback(plugin, PLUGIN_PASS_MANAGER_SETUP, nullptr, &info);
}

}  // namespace
}  // namespace tandem::loop_checks

__attribute__((visibility("default"))) int plugin_init(plugin_name_args* plugin,
                                                       plugin_gcc_version* version) {
  if (!plugin_default_version_check(version, &gcc_version)) return 1;
  using namespace tandem::loop_checks;
  // Right behind the passes after which variables are in no memory: the next ones may take any
  // value for one that is missing.
  for (const char* pass : {"einline", "esra", "post_ipa_warn", "sra"}) {
    add_pass(plugin->base_name, new CheckPass("tandem_unset", check_values), pass);
  }
  add_pass(plugin->base_name, new CheckPass("tandem_loops", split_loops), "loopinit");
  // Variables without checks are values again, as without this plugin. The last one comes first.
  add_pass(plugin->base_name, new CheckPass("tandem_unset", check_values), "asan");
  add_pass(plugin->base_name, make_pass_sra(g), "asan");
  add_pass(plugin->base_name, new CheckPass("tandem_private", drop_private), "asan");
  add_pass(plugin->base_name, new CheckPass("tandem_stores", check_stores), "asan");
  add_pass(plugin->base_name, new CheckPass("tandem_loads", follow_loads), "sanopt",
           PASS_POS_INSERT_BEFORE);
  return 0;
}
