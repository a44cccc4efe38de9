// SPDX-License-Identifier: Apache-2.0
//
// add_stream_points(): finds the reads and writes of streams in a function and the calls that start
// processes, so that the card is told of each before it happens.
//
// A point knows the cycle of its iteration in which the access begins. Not found: streams that are
// neither a value of the function nor a global variable. Pure.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bitstreams/compiler/timing/analysis.h"
#include "bitstreams/compiler/timing/loop_tree.h"

namespace tandem::timing {

// `number`: the index that the function's model will have; `first_counter`: of its blocks.
// `latencies`: of called functions.
void add_stream_points(const IrFunction& function, const std::vector<IrLoop>& loops, int number,
                       int first_counter, const std::map<std::string, double>& latencies,
                       Analysis& result);

// add_operations(): counts the arithmetic of each block of the functions of a model: floating-point
// additions, products, quotients and roots, or if the kernel has none, integer products and the
// sums of values that were loaded, read or multiplied. `first_counters`: of each function's blocks.
void add_operations(const std::vector<std::pair<const IrFunction*, int>>& first_counters,
                    KernelModel& model);

}  // namespace tandem::timing
