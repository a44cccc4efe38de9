// SPDX-License-Identifier: Apache-2.0
//
// The backends of this build, and how a device is opened by its id.
//
// A backend whose dependency was missing at build time is in the list, too (its absent.cpp):
// available() is false, and open() throws an Error that says how to enable it. To add a backend,
// write `const Backend& <kind>_backend()` in drivers/<kind> and add it to drivers/registry.cpp.
// Threads: any.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/thread_plan.h"
#include "device/activity.h"
#include "device/backend_options.h"
#include "device/device.h"

namespace tandem::device {

struct DeviceOptions {
  int num_threads = 0;   // host threads of a CPU device; 0: the cores this process may use
  Pin pin = Pin::kAuto;  // whether host threads are bound to processors (thread_plan.h)
  // Keys that backends declare (Backend::options()).
  BackendValues values = {};
  // Receives the activities of devices that record them; empty: nothing is recorded.
  ActivitySink activity = {};
  // Receives a line for the log when a device chooses something; may be empty.
  std::function<void(const std::string&)> note = {};
  // Receives a line when a device does not support the value of an option; may be empty.
  std::function<void(const std::string&)> warn = {};
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view kind() const = 0;
  virtual bool available() const = 0;
  virtual std::string unavailable_reason() const = 0;  // how to enable it; empty when available

  // The keys of DeviceOptions::values that the backend reads. They do not depend on available().
  virtual std::span<const BackendOption> options() const { return {}; }

  // The devices present now; empty when none. Never throws for absent hardware.
  virtual std::vector<DeviceInfo> enumerate(const DeviceOptions& options) const = 0;
  virtual std::unique_ptr<Device> open(int index, const DeviceOptions& options) const = 0;
};

std::span<const Backend* const> backends();

// Throws Error if DeviceOptions::values has a key that no backend declares, or a wrong value.
void check_options(const DeviceOptions& options);

// Opens the device with an id such as "cpu", "opencl:0" or "xrt:1"; an id without a number means 0.
// Throws Error naming the known ids, and as check_options().
std::unique_ptr<Device> open_device(std::string_view id, const DeviceOptions& options);

// The same for a device that can hold gradients ("cuda:0"), in a library without other backends.
// Error if the build has none; it says how to enable it.
std::unique_ptr<Device> open_gradient_device(std::string_view id);

// How devices of a group share a model: each has some layers (pipeline), or some columns of every
// layer (tensor parallel).
enum class GroupSplit { kLayers, kTensor };

struct GroupOptions {
  GroupSplit split = GroupSplit::kLayers;
  int num_layers = 0;                  // of the model
  std::vector<int> layers_per_device;  // kLayers; empty: shares that differ by one layer at most
};

// Several devices as one; with kTensor they are of one kind. The id joins theirs: "cuda:0+cuda:1".
// "cpu" may be given more than once; its threads are then divided. Throws Error naming the ids or
// numbers that do not fit.
std::unique_ptr<Device> open_group(std::span<const std::string> ids, const GroupOptions& group,
                                   const DeviceOptions& options);

// The options with which open_group() opens its parts.
DeviceOptions part_options(std::span<const std::string> ids, const DeviceOptions& options);

// Every device of every available backend.
std::vector<DeviceInfo> enumerate_devices(const DeviceOptions& options);

}  // namespace tandem::device
