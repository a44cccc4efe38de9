// SPDX-License-Identifier: Apache-2.0
//
// A device whose selection units and gradient memory may be used by several threads: their calls
// take turns. For the interpreter of CUDA kernels, which is for one thread.
//
// Results are valid until the next call of the same unit. Ownership: the device outlives the units.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include "device/device.h"
#include "device/selection_unit.h"

namespace tandem::device::test {

class LockedSelectionUnit final : public SelectionUnit {
  // In front of its uses: they need its type.
  template <typename Body>
  auto locked(Body&& body) {
    const std::lock_guard lock(mutex_);
    return body();
  }

 public:
  LockedSelectionUnit(std::unique_ptr<SelectionUnit> unit, std::mutex& mutex)
      : unit_(std::move(unit)), mutex_(mutex) {}
  ~LockedSelectionUnit() override {
    const std::lock_guard lock(mutex_);
    unit_.reset();
  }

  std::string name() const override { return unit_->name(); }
  SelectionShape shape() const override { return unit_->shape(); }
  bool accepts(const Placement& placement) const override { return unit_->accepts(placement); }

  GradientMoments accumulate(const GradientView& gradient, const AccumulateStep& step,
                             Deadline deadline) override {
    return locked([&] { return unit_->accumulate(gradient, step, deadline); });
  }
  GradientMoments moments_at_least(SelectionRange range, float threshold, bool logarithms,
                                   Deadline deadline) override {
    return locked([&] { return unit_->moments_at_least(range, threshold, logarithms, deadline); });
  }
  std::vector<double> squares(std::span<const SelectionRange> ranges, Deadline deadline) override {
    return locked([&] { return unit_->squares(ranges, deadline); });
  }
  std::vector<std::uint64_t> counts_at_least(SelectionRange range,
                                             std::span<const float> thresholds,
                                             Deadline deadline) override {
    return locked([&] { return unit_->counts_at_least(range, thresholds, deadline); });
  }
  SelectedEntries at_least(SelectionRange range, float threshold, Deadline deadline) override {
    return locked([&] { return unit_->at_least(range, threshold, deadline); });
  }
  SelectedEntries top(SelectionRange range, std::uint64_t count, Deadline deadline) override {
    return locked([&] { return unit_->top(range, count, deadline); });
  }
  std::span<const float> values_at(std::span<const std::uint32_t> indices,
                                   Deadline deadline) override {
    return locked([&] { return unit_->values_at(indices, deadline); });
  }
  std::span<const std::byte> pack_chunks(std::uint32_t count, std::uint32_t last_count,
                                         Deadline deadline) override {
    return locked([&] { return unit_->pack_chunks(count, last_count, deadline); });
  }
  void clear_at(std::span<const std::uint32_t> indices, Deadline deadline) override {
    locked([&] { unit_->clear_at(indices, deadline); });
  }
  void add_at(std::span<const std::uint32_t> indices, std::span<const float> values,
              Deadline deadline) override {
    locked([&] { unit_->add_at(indices, values, deadline); });
  }
  void save(const ResidualView& to, Deadline deadline) override {
    locked([&] { unit_->save(to, deadline); });
  }
  void load(const ResidualView& from, Deadline deadline) override {
    locked([&] { unit_->load(from, deadline); });
  }

 private:
  std::unique_ptr<SelectionUnit> unit_;
  std::mutex& mutex_;
};

class LockedGradientMemory final : public GradientMemory {
 public:
  LockedGradientMemory(std::unique_ptr<GradientMemory> memory, std::mutex& mutex)
      : memory_(std::move(memory)), mutex_(mutex) {}
  ~LockedGradientMemory() override {
    const std::lock_guard lock(mutex_);
    memory_.reset();
  }

  std::string name() const override { return memory_->name(); }
  bool accepts(const Placement& placement) const override { return memory_->accepts(placement); }
  GradientMoments measure(const GradientView& gradient, Deadline deadline) override {
    const std::lock_guard lock(mutex_);
    return memory_->measure(gradient, deadline);
  }
  void put(const GradientTarget& to, std::span<const std::uint32_t> indices,
           std::span<const float> values, Deadline deadline) override {
    const std::lock_guard lock(mutex_);
    memory_->put(to, indices, values, deadline);
  }
  void read(std::span<const std::byte> from, const Placement& placement, std::span<std::byte> to,
            Deadline deadline) override {
    const std::lock_guard lock(mutex_);
    memory_->read(from, placement, to, deadline);
  }
  void write(std::span<const std::byte> from, std::span<std::byte> to, const Placement& placement,
             Deadline deadline) override {
    const std::lock_guard lock(mutex_);
    memory_->write(from, to, placement, deadline);
  }

 private:
  std::unique_ptr<GradientMemory> memory_;
  std::mutex& mutex_;
};

class LockedDevice final : public Device {
 public:
  explicit LockedDevice(std::unique_ptr<Device> device)
      : LockedDevice(std::move(device), std::make_shared<std::mutex>()) {}
  // Several devices may take turns with each other.
  LockedDevice(std::unique_ptr<Device> device, std::shared_ptr<std::mutex> mutex)
      : device_(std::move(device)), mutex_(std::move(mutex)) {}

  ~LockedDevice() override {
    const std::lock_guard lock(*mutex_);
    device_.reset();
  }

  const DeviceInfo& info() const override { return device_->info(); }
  std::unique_ptr<ComputeUnit> make_compute_unit() override { return device_->make_compute_unit(); }
  std::unique_ptr<AttentionUnit> make_attention_unit(const AttentionUnitOptions& options) override {
    return device_->make_attention_unit(options);
  }
  std::unique_ptr<SelectionUnit> make_selection_unit(const SelectionShape& shape) override {
    const std::lock_guard lock(*mutex_);
    return std::make_unique<LockedSelectionUnit>(device_->make_selection_unit(shape), *mutex_);
  }
  std::unique_ptr<GradientMemory> make_gradient_memory() override {
    const std::lock_guard lock(*mutex_);
    return std::make_unique<LockedGradientMemory>(device_->make_gradient_memory(), *mutex_);
  }

 private:
  std::unique_ptr<Device> device_;
  std::shared_ptr<std::mutex> mutex_;
};

}  // namespace tandem::device::test
