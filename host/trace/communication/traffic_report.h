// SPDX-License-Identifier: Apache-2.0
//
// Formats traffic as JSON, CSV, Prometheus text, and an HTML page with pictures.
//
// JSON: `ranks` (the rows), `labels`, `bytes` and `counts` ([dst][src]), `by_kind`,
// `by_collective`, `by_phase`, `by_window` (the same two matrices each; those with one member only
// where it has a name), `events` (how many were kept and dropped), `model`, `not_modelled`,
// `missing_ranks`, `hosts`, and `counted` with `counted_minus_model_bytes` where a transport
// counted. `by_algorithm`: of calls that were modelled and counted alike, both and their
// difference. Pure; threads: any.
#pragma once

#include <cstddef>
#include <string>

#include "trace/communication/heat_map.h"
#include "trace/communication/traffic.h"

namespace tandem::trace {

std::string traffic_json(const Traffic& traffic);

// "source,destination,kind,operation,phase,window,bytes,messages", one line per cell.
std::string traffic_csv(const Traffic& traffic);

// Text exposition format for a textfile collector: one series per pair and kind. Collectors limit
// the number of series, so only the kMostSeries largest are written, and a comment says so.
constexpr std::size_t kMostSeries = 10'000;
std::string traffic_prometheus(const Traffic& traffic);

std::string traffic_svg(const Traffic& traffic, const std::string& title, HeatScale scale);

// One page without scripts: both pictures, one per kind, collective, phase and time window where
// there are several, and the largest flows as a table.
std::string traffic_html(const Traffic& traffic, const std::string& title);

}  // namespace tandem::trace
