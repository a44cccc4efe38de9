// SPDX-License-Identifier: Apache-2.0
//
// Events wait in a queue, so a burst costs one post and one write. Plain answers are drained in
// batches, since nobody waits for their parts.
#include "server/openai/generation_call.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "common/error.h"

namespace tandem::server::openai {
namespace {

constexpr std::size_t kPlainBatch = 64;  // events of a plain answer that are written at once
// Bytes of a stream that are sent at once: the connection allows one piece beyond its limit.
constexpr std::size_t kPieceBytes = 16 * 1024;

// Not 503, because clients repeat a request after that.
ApiError cancelled_by_operator(RequestRecord& record) {
  record.note_cut_short(CutShort::kCancelled);
  return ApiError(403, "an operator of this server cancelled this request", "", "cancelled");
}

}  // namespace

void GenerationCall::start(http::Exchange& exchange, std::shared_ptr<const ApiContext> context,
                           Prepare prepare) {
  const auto call = std::make_shared<GenerationCall>(exchange, context);
  auto work = [call, prepare = std::move(prepare),
               body = std::make_shared<std::string>(exchange.take_body())] {
    call->run(prepare, *body);
  };
  if (!context->pool->try_post(std::move(work))) {
    throw ApiError(503, "the server has too many requests to read; try again later", "", "busy");
  }
  if (const int seconds = context->limits.max_seconds; seconds > 0) {
    call->deadline_ =
        context->timers->after(std::chrono::seconds(seconds), [weak = call->weak_from_this()] {
          if (const auto late = weak.lock()) late->expire();
        });
  }
  exchange.keep(call);
}

GenerationCall::GenerationCall(http::Exchange& exchange, std::shared_ptr<const ApiContext> context)
    : exchange_(exchange),
      post_(exchange.poster()),
      context_(std::move(context)),
      record_(exchange.request().record),
      submissions_(context_->service) {}

GenerationCall::~GenerationCall() {
  context_->timers->cancel(deadline_);
  context_->timers->cancel(heartbeat_);
}

void GenerationCall::run(const Prepare& prepare, const std::string& body) {
  if (dead_) return;
  try {
    plan_ = prepare(body);
    builder_.emplace(context_->service, plan_, context_->limits.max_answer_bytes,
                     context_->answers);
    uses_pool_ = !plan_.stream || plan_.logprobs ||
                 std::ranges::any_of(plan_.prompts, [](const PlannedPrompt& prompt) {
                   return !prompt.echo.empty();
                 });
    submit(choices());
    begin();
  } catch (const ApiError& error) {
    fail(error);
  } catch (const std::exception& error) {
    spdlog::error("[server] a request failed: {}", error.what());
    fail(ApiError(500, "the server failed to handle this request"));
  }
}

std::vector<Submission> GenerationCall::choices() {
  std::vector<Submission> result;
  for (std::size_t i = 0; i < plan_.num_choices(); ++i) {
    PlannedPrompt& prompt = plan_.prompts[plan_.prompt_of(i)];
    const bool is_last = i + 1 == plan_.num_choices() || plan_.is_first_of_prompt(i + 1);
    const auto number = i % static_cast<std::size_t>(plan_.choices_per_prompt);
    // The last choice moves the request out, unless its prompt is still to be echoed.
    GenerationRequest request =
        is_last && !prompt.echo_logprobs ? std::exchange(prompt.request, {}) : prompt.request;
    request.caller = record_->caller();
    if (auto& seed = request.sampling.seed) *seed += number;
    auto sink = [weak = weak_from_this(), i](GenerationEvent event) {
      if (const auto call = weak.lock()) call->push(i, std::move(event));
    };
    result.push_back({std::move(request), std::move(sink)});
  }
  return result;
}

void GenerationCall::submit(std::vector<Submission> choices) {
  GenerationService& service = context_->service;
  int num_prompt_tokens = 0;  // of each prompt once
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (!plan_.is_first_of_prompt(i)) continue;
    num_prompt_tokens += static_cast<int>(choices[i].request.prompt.size());
  }
  counted_tokens_.resize(choices.size());
  if (dead_) return;
  SubmitResult result;
  try {
    result = service.submit(std::move(choices));
  } catch (const Error& error) {
    throw ApiError(400, text_for_client(error));
  }
  if (result.status != SubmitStatus::kAccepted) {
    throw not_admitted(result.status, service.retry_after_seconds());
  }
  record_->add_tokens(num_prompt_tokens, 0);
  bool cancelled = false;
  for (std::size_t i = 0; i < result.ids.size(); ++i) {
    submissions_.add(i, result.ids[i]);
    cancelled |= !record_->add_generation(result.ids[i]);
  }
  if (cancelled) throw cancelled_by_operator(*record_);
}

void GenerationCall::begin() {
  if (plan_.stream) {
    std::string opening;
    builder_->append_opening(opening);
    on_strand([self = shared_from_this(), opening](http::Exchange& exchange) {
      http::Response head;
      head.content_type = "text/event-stream";
      head.headers.push_back({"Cache-Control", "no-cache"});
      head.headers.push_back({"X-Accel-Buffering", "no"});  // proxies must not buffer events
      if (!self->plan_.warning.empty()) head.headers.push_back({"Warning", self->plan_.warning});
      self->streaming_ = true;
      exchange.begin_stream(std::move(head));
      exchange.write(opening);
      self->arm_heartbeat();
    });
  }
  const std::lock_guard lock(mutex_);
  started_ = true;
  schedule_drain();
}

void GenerationCall::push(std::size_t choice, GenerationEvent event) {
  if (dead_) return;
  const std::lock_guard lock(mutex_);
  note_progress(choice, event);
  num_ends_ += event.finish.has_value();
  queue_.push_back({choice, std::move(event)});
  if (plan_.stream || num_ends_ > 0 || queue_.size() >= kPlainBatch) schedule_drain();
}

void GenerationCall::note_progress(std::size_t choice, const GenerationEvent& event) {
  if (event.finish) record_->set_queue_seconds(event.queue_seconds);
  int& counted = counted_tokens_[choice];
  if (plan_.prompts[plan_.prompt_of(choice)].scores_only || event.completion_tokens <= counted) {
    return;
  }
  record_->add_tokens(0, event.completion_tokens - counted);
  counted = event.completion_tokens;
}

void GenerationCall::expire() {
  const std::lock_guard lock(mutex_);
  expired_ = true;
  schedule_drain();
}

void GenerationCall::schedule_drain() {
  if (!started_ || scheduled_) return;
  scheduled_ = true;
  auto work = [weak = weak_from_this()] {
    if (const auto call = weak.lock()) call->drain();
  };
  if (uses_pool_) {
    context_->pool->post(std::move(work));
  } else {
    post_(std::move(work));
  }
}

void GenerationCall::drain() {
  std::vector<QueuedEvent> events;
  bool expired = false;
  {
    const std::lock_guard lock(mutex_);
    events.swap(queue_);
    num_ends_ = 0;
    expired = std::exchange(expired_, false);
  }
  if (dead_ || !write_events(events, expired)) return;
  const std::lock_guard lock(mutex_);
  scheduled_ = false;
  const bool waits = plan_.stream ? !queue_.empty() : num_ends_ > 0 || queue_.size() >= kPlainBatch;
  if (waits || expired_) schedule_drain();
}

bool GenerationCall::write_events(std::vector<QueuedEvent>& events, bool expired) {
  std::string out;
  try {
    for (auto& [choice, event] : events) {
      if (event.finish) submissions_.finished(choice);
      if (event.finish == FinishReason::kCancelled && record_->is_cancelled()) {
        throw cancelled_by_operator(*record_);
      }
      builder_->take(choice, event, out);
      if (out.size() >= kPieceBytes) send(out);
    }
    if (expired && !builder_->complete()) cut_short(out);
    if (builder_->complete()) return finish(std::exchange(out, {})), false;
    send(out);
    return true;
  } catch (const ApiError& error) {
    send(out);
    fail(error);
  } catch (const std::exception& error) {
    spdlog::error("[server] an answer failed: {}", error.what());
    fail(ApiError(500, "the server failed to write this answer"));
  }
  return false;
}

// The time of the request is over. What still runs is cancelled with the call.
void GenerationCall::cut_short(std::string& out) {
  record_->note_cut_short(CutShort::kDeadline);
  if (!builder_->has_output()) {
    ApiError late(503,
                  "nothing was generated within the " +
                      std::to_string(context_->limits.max_seconds) +
                      " s that a request may take; try again later",
                  "", "request_timeout");
    late.retry_after_seconds = context_->service.retry_after_seconds();
    throw late;
  }
  builder_->cut_short(out);
}

// By reference: g++ 12 warns of the move of a text of which it knows that it is long.
void GenerationCall::send(std::string& out) {
  if (out.empty()) return;
  std::string text;
  text.swap(out);
  const auto write = [this](http::Exchange& exchange, const std::string& data) {
    silent_ = false;
    exchange.write(data);
  };
  if (!uses_pool_) {
    if (!over_) write(exchange_, text);
    return;
  }
  on_strand([write, text = std::move(text)](http::Exchange& exchange) { write(exchange, text); });
}

// `out`: what a stream has not sent yet.
void GenerationCall::finish(std::string out) {
  dead_ = true;
  if (plan_.stream) {
    builder_->append_end(out);
    send(out);
    on_strand([this](http::Exchange& exchange) {
      over_ = true;
      exchange.end_stream();
    });
    return;
  }
  auto response = std::make_shared<http::Response>();
  response->body = builder_->whole();
  response->held = builder_->take_held();
  if (!plan_.warning.empty()) response->headers.push_back({"Warning", plan_.warning});
  on_strand([this, response](http::Exchange& exchange) {
    over_ = true;
    exchange.respond(std::move(*response));
  });
}

// What still runs is cancelled with the call, which its answer ends.
void GenerationCall::fail(const ApiError& error) {
  dead_ = true;
  on_strand([this, error](http::Exchange&) { end_with(error); });
}

void GenerationCall::end_with(const ApiError& error) {
  over_ = true;
  if (!streaming_) return exchange_.respond(error_response(error));
  record_->note_cut_short(CutShort::kFailed);
  record_->set_error(error_word(error));
  std::string out;
  AnswerFormat::append_error_event(out, error_body(error));
  AnswerFormat::append_done_event(out);
  exchange_.write(out);
  exchange_.end_stream();
}

// `act` may use this call.
void GenerationCall::on_strand(Act act) {
  post_([weak = weak_from_this(), act = std::move(act)] {
    const auto call = weak.lock();
    if (call && !call->over_) act(call->exchange_);
  });
}

void GenerationCall::arm_heartbeat() {
  heartbeat_ = context_->timers->after(context_->heartbeat, [weak = weak_from_this()] {
    const auto call = weak.lock();
    if (!call || call->dead_) return;
    call->on_strand([self = call.get()](http::Exchange& exchange) {
      if (std::exchange(self->silent_, true)) exchange.write(": waiting\n\n");
      self->arm_heartbeat();
    });
  });
}

void GenerationCall::server_stops() {
  if (over_) return;
  dead_ = true;
  record_->note_cut_short(CutShort::kStopped);
  end_with(not_admitted(SubmitStatus::kStopping, context_->service.retry_after_seconds()));
}

void GenerationCall::abandon() {
  over_ = true;
  dead_ = true;
  submissions_.cancel_all();
}

}  // namespace tandem::server::openai
