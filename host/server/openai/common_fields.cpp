// SPDX-License-Identifier: Apache-2.0
//
// The fields, by sender: clients of llama.cpp, of vLLM and SGLang, of Ollama, of gateways.
#include "server/openai/common_fields.h"

#include <algorithm>
#include <iterator>

namespace tandem::server::openai {
namespace {

constexpr std::string_view kFields[] = {"cache_prompt",
                                        "id_slot",
                                        "slot_id",
                                        "n_keep",
                                        "n_discard",
                                        "n_cache_reuse",
                                        "repeat_last_n",
                                        "penalize_nl",
                                        "penalty_last_n",
                                        "samplers",
                                        "mirostat",
                                        "mirostat_tau",
                                        "mirostat_eta",
                                        "typical_p",
                                        "typ_p",
                                        "tfs_z",
                                        "top_a",
                                        "dynatemp_range",
                                        "dynatemp_exponent",
                                        "dry_multiplier",
                                        "dry_base",
                                        "dry_allowed_length",
                                        "dry_penalty_last_n",
                                        "dry_sequence_breakers",
                                        "xtc_probability",
                                        "xtc_threshold",
                                        "top_n_sigma",
                                        "smoothing_factor",
                                        "t_max_predict_ms",
                                        "timings_per_token",
                                        "return_progress",
                                        "return_tokens",
                                        "post_sampling_probs",
                                        "lora",
                                        "reasoning_format",
                                        "reasoning_content",
                                        "thinking_forced_open",
                                        "chat_template_kwargs",
                                        "add_special_tokens",
                                        "spaces_between_special_tokens",
                                        "request_id",
                                        "cache_salt",
                                        "documents",
                                        "mm_processor_kwargs",
                                        "kv_transfer_params",
                                        "return_token_ids",
                                        "rid",
                                        "separate_reasoning",
                                        "stream_reasoning",
                                        "include_reasoning",
                                        "continuous_usage_stats",
                                        "keep_alive",
                                        "options",
                                        "num_ctx",
                                        "num_predict",
                                        "think",
                                        "enable_thinking",
                                        "thinking",
                                        "thinking_budget",
                                        "reasoning_effort",
                                        "reasoning",
                                        "verbosity",
                                        "prediction",
                                        "session_id",
                                        "chat_id",
                                        "conversation_id",
                                        "provider",
                                        "transforms",
                                        "route",
                                        "plugins",
                                        "cache_control",
                                        "client_metadata"};

}  // namespace

bool is_common_field(std::string_view name) {
  return std::ranges::find(kFields, name) != std::end(kFields);
}

}  // namespace tandem::server::openai
