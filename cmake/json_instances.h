// SPDX-License-Identifier: Apache-2.0
//
// The demo's build compiles the functions of nlohmann::json once, not in every unit that uses them
// (TandemHeaders.cmake). Without optimisation g++ then inlines none of them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

// With `extern` for all units but one.
#define TANDEM_JSON_INSTANCES(KEYWORD)                                                      \
  namespace nlohmann {                                                                      \
  KEYWORD template class basic_json<>;                                                      \
  namespace detail {                                                                        \
  KEYWORD template class serializer<json>;                                                  \
  KEYWORD template class json_sax_dom_parser<json>;                                         \
  KEYWORD template class json_sax_dom_callback_parser<json>;                                \
  KEYWORD template class lexer<json, iterator_input_adapter<std::string::const_iterator>>;  \
  KEYWORD template class parser<json, iterator_input_adapter<std::string::const_iterator>>; \
  }                                                                                         \
  }

TANDEM_JSON_INSTANCES(extern)
