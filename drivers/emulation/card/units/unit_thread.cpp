// SPDX-License-Identifier: Apache-2.0
//
// The unit's loop. The packet is copied before the kernel runs, since the application may rewrite
// it once it is done.
#include "emulation/card/units/unit_thread.h"

#include <ert.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "emulation/card/checks/local_memory.h"
#include "emulation/card/timing/rtl_time.h"
#include "emulation/card/units/command_faults.h"
#include "emulation/card/units/run_report.h"
#include "emulation/protocol/code_place.h"
#include "emulation/protocol/finding.h"
#include "emulation/protocol/futex.h"
#include "emulation/protocol/modelled_time.h"

namespace tandem::emulation {

using hls_runtime::End;

namespace {

// A kernel's local arrays represent on-chip memory; a large card has tens of megabytes of it.
constexpr size_t kStackBytes = size_t{256} << 20;
constexpr size_t kSignalStackBytes = 64 << 10;
constexpr size_t kWarmStacks = 4;  // a dataflow region reads, computes and writes

thread_local int current_unit = -1;

// That the calling thread has used.
uint64_t processor_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1000000000 + static_cast<uint64_t>(time.tv_nsec);
}

uint32_t first_argument(const tandem_glue::KernelEntry& entry) {
  return entry.num_arguments > 0 ? entry.arguments[0].offset : tandem_glue::kFirstArgumentOffset;
}

}  // namespace

UnitThread::UnitThread(const CardAreas& areas, uint32_t unit, UnitPlan plan)
    : areas_(areas),
      unit_(unit),
      channel_(areas.shared().units[unit]),
      queue_(channel_, unit, areas.clients),
      plan_(std::move(plan)),
      registers_(channel_, plan_.library->entry().register_bytes,
                 first_argument(plan_.library->entry())),
      timer_(RunTimer::make(plan_.library->counting(), plan_.card.get())),
      scheduler_(scheduler_settings()) {
  if (plan_.library->checked()) checks_.emplace(areas_, checks_settings());
  if (timer_) {
    set_timed_memory(areas_.device.data(), areas_.device.size_bytes(), plan_.card.get());
  } else if (areas_.settings.timed && plan_.library->rtl_clock_mhz() == 0) {
    report("TANDEM_TIME: its bitstream has no time model; build it again with v++ and clang");
  }
  set_rtl_memory(areas_.device.size_bytes());
  end_.code = plan_.library->code();
  end_.owner = this;
  end_.is_unwanted = [](const void* unit) {
    return static_cast<const UnitThread*>(unit)->is_cancelled();
  };
}

hls_runtime::UnitSettings UnitThread::scheduler_settings() {
  hls_runtime::UnitSettings settings;
  settings.name = plan_.name;
  settings.group = plan_.group;
  settings.free_running = plan_.free_running;
  settings.cancelled = [this] {
    note_place_if_late();
    return is_cancelled();
  };
  constexpr uint64_t kFirstValues = 128;
  const bool keeps_all = areas_.settings.has(kCheckDepths);
  settings.keeps_depths = keeps_all || areas_.settings.has(kCheckFirstDepths);
  if (!keeps_all) settings.most_kept = kFirstValues;
  settings.exact_depths = settings.keeps_depths || !areas_.settings.report_file.empty();
  settings.global_memory = areas_.device.data();
  settings.global_bytes = areas_.device.size_bytes();
  if (timer_) settings.observer = &timer_->recorder();
  settings.has_news = [this] { report_findings(End::kDone); };
  if (plan_.library->checked()) {
    settings.stack_taken = [](void* low, void* top) {
      forget(reinterpret_cast<uint64_t>(low), reinterpret_cast<uint64_t>(top));
    };
    settings.stack_warmed = [](void* low, void* top) {
      const auto end = reinterpret_cast<uint64_t>(top);
      forget(reinterpret_cast<uint64_t>(low), end);
      touch_maps(end - hls_runtime::kWarmBytes, end);
    };
  }
  return settings;
}

RunChecks::Unit UnitThread::checks_settings() {
  RunChecks::Unit unit;
  unit.index = unit_;
  unit.linked = is_linked();
  unit.code = plan_.library->code();
  unit.skip_mask = plan_.library->skip_mask();
  unit.report = [this](Finding finding) { report_finding(std::move(finding)); };
  unit.other = [this](uint32_t index) {
    const UnitIdentity& other = plan_.identities->at(index);
    return std::make_pair(other.name, other.code);
  };
  unit.raced = [this](uint32_t index, uint32_t call) {
    areas_.shared().units[index].raced[call % kMostRaced].store(call & kCallMask);
  };
  unit.num_units = [this] { return plan_.identities->size(); };
  unit.follows_values = plan_.library->follows_values();
  unit.is_on_stack = [this](uint64_t address) {
    return scheduler_.has_on_stack(reinterpret_cast<const void*>(address));
  };
  return unit;
}

UnitThread::~UnitThread() {
  stop();
  join();
}

void UnitThread::launch() {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  const int code = pthread_create(&thread_, &attributes, &UnitThread::start, this);
  pthread_attr_destroy(&attributes);
  if (code != 0) throw std::runtime_error("cannot start the thread of a compute unit");
  launched_ = true;
}

void UnitThread::stop() {
  stopping_.store(true);
  scheduler_.stop();
  futex_wake_all(channel_.submitted);
}

void UnitThread::join() {
  if (launched_) pthread_join(thread_, nullptr);
  launched_ = false;
}

bool UnitThread::is_linked() const {
  void* const* const streams = plan_.streams;
  return std::any_of(streams, streams + plan_.library->entry().num_arguments,
                     [](const void* stream) { return stream != nullptr; });
}

void UnitThread::ask_to_end(const ClientArea& client) const {
  if (called_for_.load() == &client && !is_linked()) emulation::ask_to_end(thread_);
}

void UnitThread::ask_to_end_if_late() const {
  if (is_late() && !is_linked()) emulation::ask_to_end(thread_);
}

void UnitThread::abandon() {
  if (is_late()) {
    report_late({});
  } else {
    report("ended: it computed for a process that is gone");
  }
  scheduler_.lose_thread();
  queue_.finish(*command_, ERT_CMD_STATE_ERROR);
  command_.reset();
}

UnitPlan UnitThread::plan_again() const {
  return {plan_.name,       plan_.free_running, plan_.library->load_again(),
          plan_.streams,    plan_.group,        plan_.argument_names,
          plan_.identities, plan_.ports,        plan_.card};
}

bool UnitThread::busy() const { return queue_.busy() && !scheduler_.asleep(); }

// The unit has its own signal stack, so that a stack overflow is reported too.
void* UnitThread::start(void* self) {
  const auto signal_stack = std::make_unique<char[]>(kSignalStackBytes);
  stack_t stack{};
  stack.ss_sp = signal_stack.get();
  stack.ss_size = kSignalStackBytes;
  sigaltstack(&stack, nullptr);
  UnitThread& unit = *static_cast<UnitThread*>(self);
  watch_thread(unit.end_);
  unit.run();
  stack.ss_flags = SS_DISABLE;
  sigaltstack(&stack, nullptr);
  return nullptr;
}

int UnitThread::current() { return current_unit; }

void UnitThread::run() {
  current_unit = static_cast<int>(unit_);
  scheduler_.adopt_thread();
  if (checks_) {
    checks_->begin_thread(registers_.data());
    scheduler_.warm_stacks(kWarmStacks);
  }
  if (plan_.free_running) {
    run_freely();
  } else {
    while ((command_ = queue_.next(stopping_))) run_command();
  }
  // Commands for this bitstream are not for the next one.
  queue_.fail_all();
  scheduler_.leave_thread();
}

void UnitThread::run_command() {
  const Command& command = *command_;
  const bool valid = load_registers(command);
  End end = End::kDone;
  // begin() fails for a command that was aborted after it was taken.
  const uint64_t found_before = num_found_;
  if (checks_) {
    checks_->begin_command(command.client->state().orders.get(command.order));
  }
  modelled_us_ = 0;
  if (valid && queue_.begin(command)) {
    called_for_.store(command.client.get());
    late_at_.clear();
    begun_at_.store(Clock::now().time_since_epoch().count());
    calling_.store(true);
    end = run_with_faults(command);
    if (end == End::kStopped && is_late()) report_late(scheduler_.findings().waits);
    calling_.store(false);
    called_for_.store(nullptr);
    reported_.clear();
  }
  const bool any = num_found_ != found_before || (checks_ && checks_->any_found());
  const bool found = areas_.settings.has(kCheckStrict) && any;
  const bool good = valid && end == End::kDone && !found;
  if (modelled_us_ > 0) {
    put_modelled_time(command.packet(), command.packet_bytes,
                      static_cast<uint64_t>(modelled_us_ * 1000));
  }
  if (!good) has_failed_.store(true);
  const std::string& runs = areas_.settings.runs_file;
  if (!runs.empty()) append_line(runs, checks_ ? "run" : "unchecked run");
  queue_.finish(command, good ? ERT_CMD_STATE_COMPLETED : ERT_CMD_STATE_ERROR);
  if (command.fault.is(CommandFaultKind::kTwice)) command.client->announce();
  command_.reset();  // frees its client's area
}

// Calls the kernel until the unit is stopped. A kernel with tasks is called once, since tasks go on
// after the call. After a deadlock the unit does nothing more, as in hardware.
void UnitThread::run_freely() {
  End end = End::kDone;
  while (!stopping_.load() && end == End::kDone && !scheduler_.has_tasks()) end = call_kernel();
  report_findings(end);
  if (!stopping_.load()) scheduler_.run_tasks();  // reports by has_news()
}

// Called while the unit waits, and in a signal handler.
bool UnitThread::is_cancelled() const {
  return calling_.load() && (command_->cancelled() || is_late());
}

bool UnitThread::is_late() const {
  return areas_.settings.deadline.count() != 0 && running_for() > areas_.settings.deadline;
}

std::chrono::nanoseconds UnitThread::running_for() const {
  if (!calling_.load()) return {};
  return Clock::now() - Clock::time_point(Clock::duration(begun_at_.load()));
}

void UnitThread::report(const std::string& message) const {
  std::fprintf(stderr, "tandem-card: unit '%s' of kernel '%s': %s\n", plan_.name.c_str(),
               plan_.library->entry().name, message.c_str());
}

std::string UnitThread::argument_name(uint32_t index) const {
  return index < plan_.argument_names.size() ? plan_.argument_names[index] : std::to_string(index);
}

std::vector<PointerArgument> UnitThread::pointers() {
  std::vector<PointerArgument> pointers;
  const tandem_glue::KernelEntry& entry = plan_.library->entry();
  for (uint32_t index = 0; index < entry.num_arguments; ++index) {
    const tandem_glue::ArgumentEntry& argument = entry.arguments[index];
    if (argument.kind != tandem_glue::kGlobal) continue;
    PointerArgument pointer{argument_name(index), 0};
    std::memcpy(&pointer.address, registers_.data() + argument.offset, sizeof(pointer.address));
    pointers.push_back(std::move(pointer));
  }
  return pointers;
}

// False when the packet is malformed.
bool UnitThread::load_registers(const Command& command) {
  return command.has_packet() && registers_.load(command.packet(), command.packet_bytes);
}

End UnitThread::run_with_faults(const Command& command) {
  const CommandFaults faults(areas_.shared(), command.fault,
                             [this] { return is_cancelled() || stopping_.load(); });
  if (!faults.before_kernel()) return End::kStopped;
  const End end = run_kernel();
  // A kernel that ends late shows its done bit late.
  const bool shows_end = command.fault.is(CommandFaultKind::kUnannounced);
  if (shows_end) registers_.end(false);
  const bool ended = faults.after_kernel();
  if (!shows_end) registers_.end(!command.fault.is(CommandFaultKind::kNoInterrupt));
  if (command.fault.is(CommandFaultKind::kTwice)) registers_.end();
  return ended ? end : End::kStopped;
}

// Calls the kernel once, or until its repetitions are over, the command is aborted or the kernel
// cannot go on.
End UnitThread::run_kernel() {
  const Command& command = *command_;
  End end = End::kDone;
  do {
    registers_.begin();
    end = call_kernel();
    registers_.finish();
    report_findings(end);
  } while (end == End::kDone && registers_.again() && !command.cancelled() && !stopping_.load());
  return end;
}

// Before the end of the command, so that whoever waits for it sees the number.
void UnitThread::note_call(uint32_t number) {
  if (number == 0) return;
  channel_.last_call.store(number);
  if (command_) command_->entry->call.store(number);
}

End UnitThread::call_kernel() {
  const auto begin = Clock::now();
  const uint64_t computed = areas_.settings.measures_units ? processor_ns() : 0;
  struct Call {
    const tandem_glue::KernelEntry& entry;
    tandem_glue::Invocation invocation;
  } call{
      plan_.library->entry(),
      {registers_.data(), reinterpret_cast<unsigned char*>(areas_.device.data()), plan_.streams}};
  if (checks_) {
    checks_->begin_call(pointers());
    note_call(checks_->call_number());
  }
  if (timer_) begin_timing();
  const End end = scheduler_.run(
      [](void* argument) {
        const Call& call = *static_cast<const Call*>(argument);
        call.entry.call(call.invocation);
      },
      &call);
  if (checks_) {
    checks_->end_call(end == End::kDone);
    channel_.ended_call.store(checks_->call_number());
  }
  if (timer_) end == End::kDone ? report_time() : timer_->drop();
  report_rtl_stop();
  if (areas_.settings.timed && end == End::kDone) report_rtl_time(begin);
  plan_.library->write_coverage();
  const std::chrono::nanoseconds busy = Clock::now() - begin;
  channel_.statistics.launches.fetch_add(1, std::memory_order_relaxed);
  num_calls_.fetch_add(1);
  if (areas_.settings.measures_units) channel_.statistics.processor_ns += processor_ns() - computed;
  channel_.statistics.busy_ns += static_cast<uint64_t>(busy.count());
  return end;
}

}  // namespace tandem::emulation
