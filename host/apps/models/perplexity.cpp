// SPDX-License-Identifier: Apache-2.0
//
// `tandem perplexity`: how well a model predicts a text, exp of the mean negative log-likelihood
// per token.
//
// The text is scored in windows of at most the context length, each starting with the tokenizer's
// BOS where it has one; the first token of a window is not scored.
#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <string_view>

#include "apps/models/command.h"
#include "apps/ran_where.h"
#include "apps/run_request.h"
#include "apps/runtime.h"
#include "common/error.h"
#include "common/utf8.h"

namespace tandem::apps {
namespace {

struct PerplexityOptions {
  RuntimeOptions runtime;
  std::string file;
  bool as_json = false;
  bool no_lists = false;
};

std::string read_file(const std::string& path) {
  if (std::filesystem::is_directory(path)) {
    throw Error("perplexity", "'" + path + "' is a folder; --file takes a text");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error("perplexity", "cannot read '" + path + "': " + std::strerror(errno));
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The score of a binary file would take hours and mean nothing.
void check_utf8(const std::string& text, const std::string& path) {
  std::string_view left = text;
  while (!left.empty()) {
    const Utf8Sequence next = next_utf8(left);
    if (!next.valid) {
      throw Error("perplexity", "'" + path + "' is not UTF-8 text: byte " +
                                    std::to_string(text.size() - left.size()) +
                                    " begins no character");
    }
    left.remove_prefix(next.length);
  }
}

// Progress: a line every few seconds.
class Progress {
 public:
  explicit Progress(bool silent) : silent_(silent) {}
  void report(std::size_t done, std::size_t all) {
    const auto now = std::chrono::steady_clock::now();
    if (silent_ || now - last_ < kPause) return;
    last_ = now;
    spdlog::info("{} of {} tokens scored", done, all);
  }

 private:
  static constexpr std::chrono::seconds kPause{5};
  const bool silent_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

std::vector<float> score(engine::Engine& engine, std::vector<model::TokenId> window) {
  engine::Request request;
  request.prompt = std::move(window);
  request.max_tokens = 1;
  request.sampling.temperature = 0;
  request.prompt_logprobs = true;
  std::vector<float> logprobs;
  run_request(engine, std::move(request), [&](const engine::RequestEvent& event) {
    logprobs.insert(logprobs.end(), event.prompt_logprobs.begin(), event.prompt_logprobs.end());
  });
  return logprobs;
}

using Lists = std::vector<std::pair<const char*, nlohmann::json>>;

// A line per field; a list, however long, is on one line.
void print_json(const nlohmann::ordered_json& fields, const Lists& lists) {
  std::string text = fields.dump(2);
  text.resize(text.rfind('\n'));
  for (const auto& [name, list] : lists) text += fmt::format(",\n  \"{}\": {}", name, list.dump());
  fmt::print("{}\n}}\n", text);
}

// Negative log-likelihoods of the tokens, window by window; every window begins with `head`, BOS or
// nothing.
std::vector<double> score_all(engine::Engine& engine, const std::vector<model::TokenId>& ids,
                              const std::vector<model::TokenId>& head, Progress& progress) {
  // One token is generated after every window.
  const auto window_tokens = static_cast<std::size_t>(engine.max_request_tokens() - 1);
  if (window_tokens < head.size() + 2) {
    throw Error("perplexity", "a context of " + std::to_string(window_tokens + 1) +
                                  " tokens is too short to score anything; raise --context");
  }
  std::vector<double> nll;
  const std::size_t stride = window_tokens - head.size();
  for (std::size_t at = head.size(); at < ids.size(); at += stride) {
    const std::size_t end = std::min(ids.size(), at + stride);
    std::vector<model::TokenId> window = head;
    window.insert(window.end(), ids.begin() + static_cast<std::ptrdiff_t>(at),
                  ids.begin() + static_cast<std::ptrdiff_t>(end));
    if (window.size() < 2) break;
    for (const float logprob : score(engine, std::move(window))) nll.push_back(-logprob);
    progress.report(end, ids.size());
  }
  return nll;
}

void run(const PerplexityOptions& options) {
  if (options.as_json && spdlog::get_level() == spdlog::level::info)
    spdlog::set_level(spdlog::level::warn);
  const std::string text = read_file(options.file);
  check_utf8(text, options.file);
  Runtime runtime(options.runtime, nullptr);
  const model::Tokenizer& tokenizer = runtime.model().tokenizer();
  const std::vector<model::TokenId> ids = tokenizer.encode(text, {.add_special = true});
  if (ids.size() < 2) throw Error("perplexity", "'" + options.file + "' has fewer than two tokens");
  const bool has_bos = ids.front() == tokenizer.bos();
  const std::vector<model::TokenId> head(ids.begin(), ids.begin() + (has_bos ? 1 : 0));
  Progress progress(options.as_json);
  const std::vector<double> nll = score_all(runtime.engine(), ids, head, progress);
  const double sum = std::accumulate(nll.begin(), nll.end(), 0.0);
  const double mean = sum / static_cast<double>(nll.size());
  if (!options.as_json) {
    fmt::print("perplexity {:.4f} over {} tokens (mean negative log-likelihood {:.5f})\n",
               std::exp(mean), nll.size(), mean);
    return;
  }
  const nlohmann::ordered_json result = {
      {"model", runtime.model().config().name},
      {"file", options.file},
      {"ppl", std::exp(mean)},
      {"mean_nll", mean},
      {"tokens_scored", nll.size()},
      {"devices", ran_where_json(runtime.engine().status(), runtime.model().config(),
                                 runtime.memory_speeds())}};
  print_json(result, options.no_lists ? Lists() : Lists{{"ids", ids}, {"nll", nll}});
}

}  // namespace

void add_perplexity(CLI::App& app) {
  CLI::App* command = app.add_subcommand("perplexity", "Score how well a model predicts a text");
  auto o = std::make_shared<PerplexityOptions>();
  command->add_option("-f,--file", o->file, "UTF-8 text to score")->required();
  command->add_flag("--json", o->as_json,
                    "print one JSON object, with the lists ids and nll of all tokens");
  command->add_flag("--no-lists", o->no_lists, "leave the lists out of the JSON");
  add_runtime_options(*command, o->runtime);
  command->callback([o] { run(*o); });
}

}  // namespace tandem::apps
