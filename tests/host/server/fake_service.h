// SPDX-License-Identifier: Apache-2.0
//
// FakeService: a GenerationService whose tokens are bytes and whose output is predictable.
//
// Ids 0..255 are bytes, 256 is BOS ("<s>"), 257 ends. A prompt is BOS + its bytes. The output is
// FakeBehaviour::reply, byte by byte, then the end; with ignore_eos it repeats. A request with a
// temperature above 0 draws letters that depend on its seed alone instead. One thread serves all
// requests in turn, one token each, as the engine does. Log-probabilities: -0.5 for the token, then
// -1.5, -2.5, ... for the ids that follow it; for prompt tokens the same from -0.25.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "common/deadline.h"
#include "server/generation_service.h"

namespace tandem::test {

struct FakeBehaviour {
  std::string model_id = "fake";
  std::string reply = "Once upon a time.";
  int max_request_tokens = 256;
  int max_waiting = 1000;           // unfinished requests; beyond: kQueueFull
  int hold_after = -1;              // tokens after which generation waits for release()
  int fail_after = -1;              // tokens after which a request ends with kError
  int only_failing = 0;             // the number of the one request that fails, from 1; 0: all
  bool stopping = false;            // kStopping
  std::size_t padding_bytes = 0;    // of text beside every token: for slow clients
  bool knows_token_length = false;  // refuses prompts by their bytes, see longest_token_bytes()
  std::string unhappy_prompt = {};  // submit throws for it
  std::string untokenisable = {};   // tokenize throws for it
  bool hold_tokenize = false;       // tokenize waits for release()
  std::vector<std::string> aliases = {};
  int retry_after_seconds = 1;
  std::string never_full_for = "-";         // admission() accepts this caller
  int most_choices = 1000;                  // max_waiting()
  std::set<std::string> unread_names = {};  // by the chat template
};

class FakeService : public server::GenerationService {
 public:
  static constexpr int kBos = 256, kEnd = 257, kVocab = 258;
  // A chat whose first message says this meets a template that cannot be used.
  static constexpr const char* kUnusableTemplate = "unusable template";

  explicit FakeService(FakeBehaviour behaviour = {});
  ~FakeService() override;

  server::ModelCard model() const override {
    return {behaviour_.model_id, 1700000000, 256, behaviour_.aliases};
  }
  int vocab_size() const override { return kVocab; }
  int max_request_tokens() const override { return behaviour_.max_request_tokens; }
  std::size_t longest_token_bytes() const override { return behaviour_.knows_token_length ? 1 : 0; }
  // Where special tokens are parsed, "<s>" and "</s>" are tokens.
  std::vector<server::TokenId> tokenize(const std::vector<server::TextPart>& parts,
                                        const server::TokenizeOptions& options) const override;
  std::vector<server::TokenId> tokenize_chat(server::Conversation conversation) const override;
  bool chat_template_reads(std::string_view name) const override;
  std::string token_bytes(server::TokenId id) const override;
  std::string detokenize(const std::vector<server::TokenId>& ids) const override;
  int max_waiting() const override { return behaviour_.most_choices; }
  int retry_after_seconds() const override { return behaviour_.retry_after_seconds; }
  server::SubmitResult submit(std::vector<server::Submission> choices) override;
  server::SubmitStatus admission(const std::string& caller) const override;
  void cancel(server::GenerationId id) override;
  bool healthy() const override { return !stops(); }
  std::chrono::milliseconds heartbeat_age() const override {
    return std::chrono::milliseconds(heartbeat_age_ms);
  }
  std::string metrics_text() const override;
  std::string status_json() const override { return R"({"devices":[]})"; }

  std::atomic<int> heartbeat_age_ms{0};

  void begin_to_stop();                               // as FakeBehaviour::stopping from now on
  void release();                                     // ends hold_after and hold_tokenize for good
  std::vector<server::GenerationRequest> requests();  // all that were accepted, in order
  std::size_t num_cancelled();                        // unfinished requests that were cancelled
  std::size_t num_running();
  std::size_t num_submitted() const { return num_submitted_; }  // choices, refused ones too
  int num_tokenized() const { return num_tokenized_; }
  int num_tokenizing() const { return num_tokenizing_; }  // that wait for release()
  bool wait_until_idle();                                 // false after a generous while

 private:
  struct Active {
    server::GenerationId id;
    server::GenerationRequest request;
    server::EventSink sink;
    int produced = 0;
    int unsent = 0;    // tokens of a text that is not yet whole UTF-8
    std::string held;  // its bytes
    std::string text;  // all of it, for stop texts
    bool told_prompt = false;
    std::mt19937_64 random{0};
  };

  void serve();
  server::GenerationId add(server::Submission choice);
  void wait_for_release() const;
  bool step(Active& active, server::GenerationEvent& event);
  int next_token(Active& active);
  bool add_token(Active& active, int token, server::GenerationEvent& event);
  bool held(const Active& active) const;
  bool stops() const { return behaviour_.stopping || stopping_; }

  FakeBehaviour behaviour_;
  std::atomic<bool> stopping_{false};
  mutable std::atomic<int> num_tokenized_{0}, num_tokenizing_{0};
  std::atomic<std::size_t> num_submitted_{0};
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::map<server::GenerationId, Active> active_;
  std::vector<server::GenerationRequest> accepted_;
  std::set<server::GenerationId> cancelled_;
  server::GenerationId next_id_ = 1;
  std::size_t num_cancelled_ = 0;
  bool released_ = false, ending_ = false;
  std::thread thread_;
};

}  // namespace tandem::test
