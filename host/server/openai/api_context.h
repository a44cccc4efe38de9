// SPDX-License-Identifier: Apache-2.0
//
// ApiContext: the common data of the API's handlers: the service, its worker threads and the
// operator's options. Threads: immutable; shared by all calls in progress.
#pragma once

#include <chrono>
#include <memory>

#include "server/generation_service.h"
#include "server/openai/answer_memory.h"
#include "server/openai/request_parser.h"
#include "server/timers.h"
#include "server/work_pool.h"

namespace tandem::server::openai {

struct ApiContext {
  GenerationService& service;
  std::shared_ptr<WorkPool> pool;
  std::shared_ptr<Timers> timers;
  RequestLimits limits;
  bool strict = false;  // fields of common clients are refused, not ignored
  // A stream sends a comment when it has sent nothing for this time.
  std::chrono::milliseconds heartbeat{10'000};
  std::shared_ptr<AnswerMemory> answers;
};

}  // namespace tandem::server::openai
