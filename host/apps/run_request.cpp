// SPDX-License-Identifier: Apache-2.0
//
// Waits for a request's last event; see run_request.h.
#include "apps/run_request.h"

#include <future>
#include <memory>

#include "common/error.h"

namespace tandem::apps {

engine::RequestEvent run_request(engine::Engine& engine, engine::Request request,
                                 const std::function<void(const engine::RequestEvent&)>& on_event) {
  // Shared: the engine's thread may still be inside set_value when the waiter has returned.
  const auto last = std::make_shared<std::promise<engine::RequestEvent>>();
  const engine::SubmitResult submitted =
      engine.submit(std::move(request), [last, &on_event](engine::RequestEvent event) {
        on_event(event);
        if (event.finish) last->set_value(std::move(event));
      });
  if (submitted.status != engine::SubmitStatus::kAccepted) {
    throw DeviceError("engine",
                      "the request was refused: the engine is stopping or its queue is full");
  }
  engine::RequestEvent event = last->get_future().get();
  if (*event.finish == engine::FinishReason::kError) throw DeviceError("engine", event.error);
  return event;
}

}  // namespace tandem::apps
