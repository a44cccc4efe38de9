// SPDX-License-Identifier: Apache-2.0
//
// The serving thread of FakeService. Sinks are called without the lock, as the engine calls them.
#include "host/server/fake_service.h"

#include <algorithm>
#include <utility>

#include "common/error.h"

namespace tandem::test {
namespace {

constexpr auto kPatience = std::chrono::seconds(20);

// Bytes at the end of `text` that begin a UTF-8 sequence which is not complete.
std::size_t incomplete_tail(const std::string& text) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, text.size()); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xC0) == 0x80) continue;
    const std::size_t length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
    return length > back ? back : 0;
  }
  return 0;
}

}  // namespace

FakeService::FakeService(FakeBehaviour behaviour) : behaviour_(std::move(behaviour)) {
  thread_ = std::thread([this] { serve(); });
}

FakeService::~FakeService() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::vector<server::TokenId> FakeService::tokenize(const std::vector<server::TextPart>& parts,
                                                   const server::TokenizeOptions& options) const {
  wait_for_release();
  ++num_tokenized_;
  std::vector<server::TokenId> ids;
  if (options.add_special) ids.push_back(kBos);
  for (const server::TextPart& part : parts) {
    if (!behaviour_.untokenisable.empty() && part.text == behaviour_.untokenisable) {
      throw Error("tokenizer", "this text cannot be tokenised");
    }
    for (std::string_view text = part.text; !text.empty();) {
      const bool begins = part.parse_special && text.starts_with("<s>");
      const bool ends = part.parse_special && text.starts_with("</s>");
      ids.push_back(begins ? kBos : ends ? kEnd : static_cast<unsigned char>(text.front()));
      text.remove_prefix(begins ? 3 : ends ? 4 : 1);
      if (ids.size() > options.max_tokens) throw server::PromptTooLong(ids.size());
    }
  }
  return ids;
}

void FakeService::wait_for_release() const {
  std::unique_lock lock(mutex_);
  if (!behaviour_.hold_tokenize || released_) return;
  ++num_tokenizing_;
  changed_.wait_for(lock, kPatience, [&] { return released_; });
  --num_tokenizing_;
}

std::string FakeService::detokenize(const std::vector<server::TokenId>& ids) const {
  std::string text;
  for (std::size_t i = !ids.empty() && ids.front() == kBos ? 1 : 0; i < ids.size(); ++i) {
    text += token_bytes(ids[i]);
  }
  return text;
}

std::vector<server::TokenId> FakeService::tokenize_chat(server::Conversation conversation) const {
  const std::vector<server::ChatMessage>& messages = conversation.messages;
  if (messages.front().role == "assistant") {
    throw Error("chat", "the conversation must not begin with the assistant");
  }
  if (messages.front().content == kUnusableTemplate) {
    throw server::ChatTemplateFault("the chat template does not parse: line 3, column 9");
  }
  std::string text;
  for (const std::string& json : {conversation.tools, conversation.variables}) {
    if (!json.empty()) text += json + "\n";
  }
  for (const server::ChatMessage& message : messages) {
    text += message.role + ": " + message.content + message.fields + "\n";
  }
  text += "assistant: ";
  if (behaviour_.knows_token_length &&
      text.size() > static_cast<std::size_t>(behaviour_.max_request_tokens)) {
    throw server::PromptTooLong(text.size());
  }
  return tokenize({{text, false}}, {});
}

bool FakeService::chat_template_reads(std::string_view name) const {
  return !behaviour_.unread_names.contains(std::string(name));
}

std::string FakeService::token_bytes(server::TokenId id) const {
  if (id == kBos) return "<s>";
  if (id == kEnd) return "</s>";
  return std::string(1, static_cast<char>(id));
}

server::SubmitResult FakeService::submit(std::vector<server::Submission> choices) {
  num_submitted_ += choices.size();
  for (const server::Submission& choice : choices) {
    if (!behaviour_.unhappy_prompt.empty() &&
        choice.request.prompt == tokenize({{behaviour_.unhappy_prompt}}, {})) {
      throw Error("engine", "this request could never be served");
    }
  }
  std::lock_guard lock(mutex_);
  if (stops()) return {server::SubmitStatus::kStopping};
  if (active_.size() + choices.size() > static_cast<std::size_t>(behaviour_.max_waiting)) {
    return {server::SubmitStatus::kQueueFull};
  }
  server::SubmitResult result;
  for (server::Submission& choice : choices) result.ids.push_back(add(std::move(choice)));
  changed_.notify_all();
  return result;
}

server::GenerationId FakeService::add(server::Submission choice) {
  const server::GenerationId id = next_id_++;
  accepted_.push_back(choice.request);
  Active& active = active_[id];
  active.id = id;
  active.random.seed(choice.request.sampling.seed.value_or(id));
  active.request = std::move(choice.request);
  active.sink = std::move(choice.sink);
  return id;
}

server::SubmitStatus FakeService::admission(const std::string& caller) const {
  if (stops()) return server::SubmitStatus::kStopping;
  if (behaviour_.never_full_for == caller) return server::SubmitStatus::kAccepted;
  std::lock_guard lock(mutex_);
  return active_.size() >= static_cast<std::size_t>(behaviour_.max_waiting)
             ? server::SubmitStatus::kQueueFull
             : server::SubmitStatus::kAccepted;
}

void FakeService::begin_to_stop() { stopping_ = true; }

void FakeService::cancel(server::GenerationId id) {
  std::lock_guard lock(mutex_);
  if (!active_.contains(id)) return;
  cancelled_.insert(id);
  changed_.notify_all();
}

std::string FakeService::metrics_text() const {
  std::lock_guard lock(mutex_);
  return "tandem_requests{state=\"running\"} " + std::to_string(active_.size()) +
         "\ntandem_requests_finished_total{reason=\"cancelled\"} " +
         std::to_string(num_cancelled_) + "\n";
}

void FakeService::release() {
  std::lock_guard lock(mutex_);
  released_ = true;
  changed_.notify_all();
}

std::vector<server::GenerationRequest> FakeService::requests() {
  std::lock_guard lock(mutex_);
  return accepted_;
}

std::size_t FakeService::num_cancelled() {
  std::lock_guard lock(mutex_);
  return num_cancelled_;
}

std::size_t FakeService::num_running() {
  std::lock_guard lock(mutex_);
  return active_.size();
}

bool FakeService::wait_until_idle() {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, kPatience, [&] { return active_.empty(); });
}

bool FakeService::held(const Active& active) const {
  return !released_ && behaviour_.hold_after >= 0 && active.produced >= behaviour_.hold_after &&
         !cancelled_.contains(active.id);
}

void FakeService::serve() {
  std::unique_lock lock(mutex_);
  server::GenerationId last = 0;
  while (!ending_) {
    auto at = active_.upper_bound(last);
    while (at != active_.end() && held(at->second)) ++at;
    if (at == active_.end()) {
      const bool idle = std::all_of(active_.begin(), active_.end(),
                                    [&](const auto& entry) { return held(entry.second); });
      if (idle) changed_.wait(lock);
      last = 0;
      continue;
    }
    Active& active = at->second;
    last = active.id;
    server::GenerationEvent event;
    const bool done = step(active, event);
    const server::EventSink sink = active.sink;
    if (done) active_.erase(at);
    lock.unlock();
    sink(std::move(event));
    lock.lock();
    if (done) changed_.notify_all();
  }
}

int FakeService::next_token(Active& active) {
  if (active.request.sampling.temperature > 0) {
    return 'a' + static_cast<int>(active.random() % 26);
  }
  const auto size = static_cast<int>(behaviour_.reply.size());
  if (active.produced >= size && !active.request.ignore_eos) return kEnd;
  const int token = static_cast<unsigned char>(behaviour_.reply[active.produced % size]);
  for (const auto& [id, bias] : active.request.sampling.logit_bias) {
    if (id == token && bias == -100) return token + 1;
  }
  return token;
}

// Fills the event with the next token; true when it is the last.
bool FakeService::step(Active& active, server::GenerationEvent& event) {
  const server::GenerationRequest& request = active.request;
  event.prompt_tokens = static_cast<int>(request.prompt.size());
  event.cached_tokens = event.prompt_tokens / 2;
  event.completion_tokens = active.produced;
  event.queue_seconds = 0.125;
  if (cancelled_.erase(active.id) > 0) {
    ++num_cancelled_;
    event.finish = server::FinishReason::kCancelled;
    return true;
  }
  const auto only = static_cast<server::GenerationId>(behaviour_.only_failing);
  if (behaviour_.fail_after >= 0 && active.produced >= behaviour_.fail_after &&
      (only == 0 || only == active.id)) {
    event.finish = server::FinishReason::kError;
    event.error = "the card is on fire";
    return true;
  }
  if (!std::exchange(active.told_prompt, true) && request.prompt_logprobs) {
    event.prompt_logprobs.assign(request.prompt.size() - 1, -0.25f);
    const int num_top = request.top_logprobs.value_or(0);
    for (std::size_t i = 1; num_top > 0 && i < request.prompt.size(); ++i) {
      auto& top = event.prompt_top.emplace_back();
      for (int j = 0; j < num_top; ++j) {
        top.push_back({(request.prompt[i] + j) % kVocab, -0.25f - static_cast<float>(j)});
      }
    }
  }
  const int token = next_token(active);
  const auto& stops = request.stop_tokens;
  if (token == kEnd || std::find(stops.begin(), stops.end(), token) != stops.end()) {
    event.text = std::exchange(active.held, {});
    event.finish = server::FinishReason::kStop;
    return true;
  }
  return add_token(active, token, event);
}

bool FakeService::add_token(Active& active, int token, server::GenerationEvent& event) {
  const server::GenerationRequest& request = active.request;
  server::OutputToken output{token, -0.5f, {}};
  for (int i = 0; i < request.top_logprobs.value_or(0); ++i)
    output.top.push_back({(token + i) % kVocab, -0.5f - static_cast<float>(i)});
  event.tokens.push_back(std::move(output));
  event.completion_tokens = ++active.produced;
  active.held += static_cast<char>(token);
  if (incomplete_tail(active.held) == 0) event.text = std::exchange(active.held, {});
  active.text += event.text;
  for (const std::string& stop : request.stop) {  // tests use stop texts of one token
    const std::size_t found = event.text.find(stop);
    if (found == std::string::npos) continue;
    event.text.resize(found);
    event.finish = server::FinishReason::kStop;
    return true;
  }
  event.text.append(behaviour_.padding_bytes, '.');
  if (active.produced < request.max_tokens) return false;
  event.finish = server::FinishReason::kLength;
  return true;
}

}  // namespace tandem::test
