// SPDX-License-Identifier: Apache-2.0
//
// Handles may be used again for other objects; a handle stands for the newest one.
#include "emulation/xrt_shim/opencl/opencl_order.h"

#include <map>
#include <mutex>
#include <utility>

#include "emulation/opencl_layer/failures.h"
#include "emulation/xrt_shim/checks/buffer_checks.h"

namespace tandem::emulation {
namespace {

using Kind = OrderNode::Kind;
using NodePointer = std::shared_ptr<OrderNode>;

struct KnownQueue {
  NodePointer all;   // its commands, in any order
  NodePointer last;  // the newest command
  bool has_order = true;
  bool has_barrier = false;    // later commands come after all earlier ones
  unsigned num_enqueuing = 0;  // threads that enqueue a command
  bool is_mixed = false;       // several did at once: which command comes first is not known
};

struct KnownObjects {
  std::mutex mutex;
  std::map<cl_command_queue, KnownQueue> queues;
  std::map<cl_event, NodePointer> events;
};

KnownObjects& known_objects() {
  static auto& all = *new KnownObjects;  // callbacks may run while the process ends
  return all;
}

// The command that this thread enqueues.
struct Enqueued {
  cl_command_queue queue = nullptr;
  OrderOwner owner;
};
thread_local Enqueued enqueued;

NodePointer node_of(KnownObjects& known, cl_event event) {
  const auto found = known.events.find(event);
  return found == known.events.end() ? nullptr : found->second;
}

KnownQueue& queue_of(KnownObjects& known, cl_command_queue handle, bool has_order) {
  KnownQueue& queue = known.queues[handle];
  if (queue.all != nullptr) return queue;
  queue.has_order = has_order;
  queue.all = std::make_shared<OrderNode>();
  queue.all->kind = Kind::kQueue;
  return queue;
}

Kind kind_of(unsigned groups) {
  if (groups == 0) return Kind::kOther;
  return groups == 1 ? Kind::kKernel : Kind::kGroups;
}

// The node of a new command, behind what the queue puts before it.
NodePointer enter(KnownQueue& queue, const OpenClCommand& command) {
  queue.is_mixed = queue.is_mixed || queue.num_enqueuing != 0;
  ++queue.num_enqueuing;
  if (queue.has_order && queue.is_mixed) return queue.all;
  auto node = std::make_shared<OrderNode>();
  node->kind = kind_of(command.groups);
  const bool is_after_all = command.is_barrier != 0 && command.num_events == 0;
  if (queue.has_order) {
    if (queue.last != nullptr) RunOrder::instance().put_after(*node, queue.last);
  } else if (is_after_all || queue.has_barrier) {
    RunOrder::instance().put_after(*node, queue.all);
  }
  if (command.is_barrier == 2) queue.has_barrier = true;
  queue.last = node;
  return node;
}

}  // namespace

OrderOwner order_of_enqueued() { return enqueued.owner; }

}  // namespace tandem::emulation

using namespace tandem::emulation;

int tandem_opencl_orders() { return BufferChecks::any() ? 1 : 0; }

void tandem_opencl_queue_made(cl_command_queue queue) {
  KnownObjects& known = known_objects();
  const std::lock_guard<std::mutex> lock(known.mutex);
  known.queues.erase(queue);
}

void tandem_opencl_enqueues(cl_command_queue handle, const OpenClCommand* command) {
  KnownObjects& known = known_objects();
  const std::lock_guard<std::mutex> lock(known.mutex);
  KnownQueue& queue = queue_of(known, handle, command->queue_has_order != 0);
  const NodePointer node = enter(queue, *command);
  for (unsigned index = 0; index < command->num_events; ++index) {
    const NodePointer before = node_of(known, command->events[index]);
    for (const NodePointer& each : {node, queue.all}) {
      RunOrder::instance().put_after(*each, before);
    }
  }
  enqueued = {handle, {node, queue.all, command->groups == 1}};
}

void tandem_opencl_enqueued(cl_event event, int is_over) {
  const Enqueued ended = std::exchange(enqueued, {});
  if (is_over != 0) RunOrder::instance().waited(ended.owner.node);
  KnownObjects& known = known_objects();
  const std::lock_guard<std::mutex> lock(known.mutex);
  const auto queue = known.queues.find(ended.queue);
  if (queue != known.queues.end()) --queue->second.num_enqueuing;
  if (event != nullptr) known.events[event] = ended.owner.node;
}

void tandem_opencl_event_made(cl_event event) {
  KnownObjects& known = known_objects();
  const std::lock_guard<std::mutex> lock(known.mutex);
  known.events[event] = std::make_shared<OrderNode>();
}

void tandem_opencl_waited(cl_event event) {
  KnownObjects& known = known_objects();
  const std::lock_guard<std::mutex> lock(known.mutex);
  RunOrder::instance().waited(node_of(known, event));
}

void tandem_opencl_finished(cl_command_queue queue) {
  KnownObjects& known = known_objects();
  const std::lock_guard<std::mutex> lock(known.mutex);
  const auto found = known.queues.find(queue);
  if (found == known.queues.end()) return;
  const KnownQueue& finished = found->second;
  const bool is_chain = finished.has_order && !finished.is_mixed;
  const NodePointer& last = is_chain ? finished.last : finished.all;
  if (last != nullptr) RunOrder::instance().waited(last);
}
