// SPDX-License-Identifier: Apache-2.0
//
// The features of a tensor as JSON, CSV, and a page of HTML.
//
// JSON: the fields of the whole tensor, and `rows` with kind, modes and the counts; reading it back
// gives the same features. CSV: the whole tensor, an empty line, and the rows; each part starts
// with a line of names. Pure; threads: any. Errors: Error("tensor", ...) naming the field.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "tensor/sparse/features/features.h"

namespace tandem::sparse {

nlohmann::ordered_json features_json(const TensorFeatures& features);

TensorFeatures features_from_json(const nlohmann::json& json);

std::string features_csv(const TensorFeatures& features);

// title: text. drawings: SVG elements, which the page shows as they are.
std::string features_html(const std::string& title, const TensorFeatures& features,
                          std::span<const std::string> drawings);

}  // namespace tandem::sparse
