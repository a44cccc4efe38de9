// SPDX-License-Identifier: Apache-2.0
//
// run_request: submits one request and waits for its last event.
//
// The engine's thread calls `on_event`. Returns the last event. The wait has no deadline of its
// own, because the engine's device deadlines limit every step. Errors: DeviceError if the engine
// refuses the request or ends it with an error; also exceptions of `on_event` and of
// Engine::submit.
#pragma once

#include <functional>

#include "engine/engine.h"

namespace tandem::apps {

engine::RequestEvent run_request(engine::Engine& engine, engine::Request request,
                                 const std::function<void(const engine::RequestEvent&)>& on_event);

}  // namespace tandem::apps
