// SPDX-License-Identifier: Apache-2.0
//
// The headers of g++'s plugin interface, in the order that they need; those of C++ come first.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

// clang-format off
#include <gcc-plugin.h>
#include <plugin-version.h>
#include <tree.h>
#include <gimple.h>
#include <tree-pass.h>
#include <dumpfile.h>
#include <context.h>
#include <ssa.h>
#include <cfgloop.h>
#include <gimple-iterator.h>
#include <gimple-walk.h>
#include <gimple-pretty-print.h>
#include <gimplify.h>
#include <gimplify-me.h>
#include <fold-const.h>
#include <stringpool.h>
#include <attribs.h>
#include <tree-cfg.h>
#include <tree-dfa.h>
#include <tree-eh.h>
#include <tree-into-ssa.h>
#include <tree-chrec.h>
#include <tree-data-ref.h>
#include <tree-scalar-evolution.h>
#include <tree-ssa-loop.h>
#include <tree-ssa-loop-ivopts.h>
#include <tree-ssa-loop-manip.h>
#include <tree-ssa-loop-niter.h>
#include <internal-fn.h>
#include <ssa-iterators.h>
#include <asan.h>
#include <builtins.h>
#include <cgraph.h>
#include <cfganal.h>
// clang-format on

namespace tandem::loop_checks {
using Loop = class ::loop;
}
