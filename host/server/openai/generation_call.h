// SPDX-License-Identifier: Apache-2.0
//
// GenerationCall: one API request in progress. A worker reads it and submits its choices; their
// events become one answer or one stream.
//
// Threads: the pool prepares and submits. It also writes the events of plain answers, and of
// streams with echo or log-probabilities; the connection's strand writes those of other streams.
// Only the strand uses the exchange. Ownership: the exchange keeps the call until it is answered or
// abandoned. Sinks hold it weakly, so they may outlive it and the server. Errors: the service
// accepts all choices or none; when one fails, the others are cancelled. The client gets an HTTP
// status, or an error event if the stream has begun.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "server/access/request_record.h"
#include "server/http/exchange.h"
#include "server/openai/answer_builder.h"
#include "server/openai/api_context.h"
#include "server/openai/api_error.h"
#include "server/openai/generation_plan.h"
#include "server/openai/submissions.h"

namespace tandem::server::openai {

class GenerationCall final : public http::PendingAnswer,
                             public std::enable_shared_from_this<GenerationCall> {
 public:
  // Turns the body into a plan, on a thread of the pool. Throws ApiError.
  using Prepare = std::function<GenerationPlan(const std::string& body)>;

  // Passes the body to the pool and keeps the call on the exchange. Throws ApiError 503 if the
  // pool's queue is full.
  static void start(http::Exchange& exchange, std::shared_ptr<const ApiContext> context,
                    Prepare prepare);

  GenerationCall(http::Exchange& exchange, std::shared_ptr<const ApiContext> context);
  ~GenerationCall() override;
  void abandon() override;
  void server_stops() override;

 private:
  struct QueuedEvent {
    std::size_t choice;
    GenerationEvent event;
  };
  using Act = std::function<void(http::Exchange&)>;

  void run(const Prepare& prepare, const std::string& body);  // on the pool
  std::vector<Submission> choices();
  void submit(std::vector<Submission> choices);
  void begin();

  void push(std::size_t choice, GenerationEvent event);  // on the service's thread
  void note_progress(std::size_t choice, const GenerationEvent& event);
  void expire();
  void schedule_drain();  // needs the queue's lock
  void drain();
  bool write_events(std::vector<QueuedEvent>& events, bool expired);  // false: the call is over
  void cut_short(std::string& out);

  void send(std::string& out);  // and empties it
  void finish(std::string out);
  void fail(const ApiError& error);
  void end_with(const ApiError& error);  // on the strand
  void on_strand(Act act);
  void arm_heartbeat();

  http::Exchange& exchange_;
  const http::Poster post_;
  const std::shared_ptr<const ApiContext> context_;
  const std::shared_ptr<RequestRecord> record_;
  Submissions submissions_;
  GenerationPlan plan_;
  std::optional<AnswerBuilder> builder_;  // used by the draining thread
  bool uses_pool_ = true;

  std::mutex mutex_;  // guards the queue: the next six members
  std::vector<QueuedEvent> queue_;
  std::vector<int> counted_tokens_;  // of each choice, in the record
  std::size_t num_ends_ = 0;         // ends of choices in the queue
  bool started_ = false;             // all choices are submitted
  bool scheduled_ = false;           // drain() runs or will run
  bool expired_ = false;

  std::atomic<bool> dead_ = false;  // failed, finished or abandoned: events are dropped
  // Used only on the strand:
  bool over_ = false;       // the exchange must not be touched any more
  bool streaming_ = false;  // the head of a stream has been sent
  bool silent_ = true;      // nothing was sent since the last heartbeat
  Timers::Id deadline_, heartbeat_;
};

}  // namespace tandem::server::openai
