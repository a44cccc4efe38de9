// SPDX-License-Identifier: Apache-2.0
//
// run_request: one request from submission to its last event, for commands that have nothing else
// to do.
//
// `on_event` is called on the engine's thread. Returns the last event. Errors: DeviceError when the
// engine refuses the request or ends it with an error; what the sink or Engine::submit throws.
// Blocks as long as the engine makes progress on it: the engine's own device deadlines bound every
// step.
#pragma once

#include <functional>

#include "engine/engine.h"

namespace tandem::apps {

engine::RequestEvent run_request(engine::Engine& engine, engine::Request request,
                                 const std::function<void(const engine::RequestEvent&)>& on_event);

}  // namespace tandem::apps
