// SPDX-License-Identifier: Apache-2.0
//
// XRT's C API: submitting command packets and waiting for completions.
#include <ert.h>
#include <experimental/xrt-next.h>
#include <xrt.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "emulation/xrt_shim/device_handle.h"
#include "emulation/xrt_shim/report.h"

namespace {

using tandem::emulation::Buffer;
using tandem::emulation::BufferChecks;
using tandem::emulation::BufferKind;
using tandem::emulation::Card;
using tandem::emulation::DeviceHandle;
using tandem::emulation::report_error;

constexpr uint32_t kUnitsPerMask = 32;
constexpr uint32_t kInitFixedWords = 9;  // of an ERT_INIT_CU packet, before further masks and pairs

// Compute units named by the masks of a start or update command.
template <typename Command>
std::vector<uint32_t> selected_units(const Card& card, const Command& command) {
  std::vector<uint32_t> units;
  const auto program = card.program();
  const size_t num_units = program == nullptr ? 0 : program->units.size();
  for (uint32_t mask_index = 0; mask_index <= command.extra_cu_masks; ++mask_index) {
    const uint32_t mask = mask_index == 0 ? command.cu_mask : command.data[mask_index - 1];
    for (uint32_t bit = 0; bit < kUnitsPerMask; ++bit) {
      const uint32_t unit = mask_index * kUnitsPerMask + bit;
      if ((mask >> bit & 1) != 0 && unit < num_units) units.push_back(unit);
    }
  }
  return units;
}

int start_unit(Card& card, const Buffer& packet, const ert_start_kernel_cmd& command) {
  const uint64_t num_words = 1 + uint64_t{command.count};
  if (num_words * 4 > packet.size_bytes || command.count <= command.extra_cu_masks) return -EINVAL;
  const std::vector<uint32_t> units = selected_units(card, command);
  if (units.empty()) {
    report_error("a command names no compute unit of the loaded bitstream");
    return -EINVAL;
  }
  const uint64_t num_registers = command.count - 1 - command.extra_cu_masks;
  const bool has_map = command.opcode == ERT_START_CU;
  if (BufferChecks* const checks = card.buffer_checks(); checks != nullptr && has_map) {
    checks->starting(*card.program(), units, packet.packet_offset,
                     command.data + command.extra_cu_masks, num_registers);
  }
  return -card.submit(units, packet.packet_offset, static_cast<uint32_t>(packet.size_bytes));
}

// One store: a call that begins meanwhile sees the old value or the new one.
void write_byte(std::atomic<uint32_t>& word, uint32_t shift, uint32_t value) {
  uint32_t before = word.load();
  while (
      !word.compare_exchange_weak(before, (before & ~(0xffu << shift)) | (value & 0xff) << shift)) {
  }
}

// New argument values while units run, for the next calls of auto-restart. XRT 2.13 sends a pair of
// offset and value per byte of the argument. The offsets are four apart, and pair n holds byte n.
int update_arguments(Card& card, const Buffer& packet, const ert_init_kernel_cmd& command) {
  const uint32_t num_fixed = kInitFixedWords + command.extra_cu_masks;
  if ((1 + uint64_t{command.count}) * 4 > packet.size_bytes || command.count < num_fixed) {
    return -EINVAL;
  }
  const std::vector<uint32_t> units = selected_units(card, command);
  if (units.empty()) return -EINVAL;
  const uint32_t* pairs = command.data + command.extra_cu_masks;
  const uint32_t num_bytes = (command.count - num_fixed) / 2;
  for (const uint32_t unit : units) {
    std::atomic<uint32_t>* registers = card.shared().units[unit].registers;
    for (uint32_t byte = 0; byte < num_bytes; ++byte) {
      const uint32_t at = pairs[0] + byte;
      if (at / 4 >= tandem::emulation::kRegisterWords) return -EINVAL;
      write_byte(registers[at / 4], at % 4 * 8, pairs[2 * byte + 1]);
    }
  }
  card.complete(packet.packet_offset, ERT_CMD_STATE_COMPLETED);
  return 0;
}

// Copies between two buffers of this handle; finished when it returns.
int copy_buffers(DeviceHandle& handle, const Buffer& packet, ert_start_copybo_cmd& command) {
  const int code = xclCopyBO(&handle, command.dst_bo_hdl, command.src_bo_hdl, command.size,
                             ert_copybo_dst_offset(&command), ert_copybo_src_offset(&command));
  handle.card()->complete(packet.packet_offset,
                          code == 0 ? ERT_CMD_STATE_COMPLETED : ERT_CMD_STATE_ERROR);
  return 0;
}

int abort_command(DeviceHandle& handle, const Buffer& packet, const ert_abort_cmd& command) {
  Buffer target;
  const bool known = handle.find(static_cast<uint32_t>(command.exec_bo_handle), target) &&
                     target.kind == BufferKind::kCommand;
  const bool aborted = known && handle.card()->abort(target.packet_offset);
  handle.card()->complete(packet.packet_offset,
                          aborted ? ERT_CMD_STATE_COMPLETED : ERT_CMD_STATE_ERROR);
  return 0;
}

int execute(DeviceHandle& handle, const Buffer& packet) {
  Card& card = *handle.card();
  auto* data = card.packet_data() + packet.packet_offset;
  auto* command = reinterpret_cast<ert_packet*>(data);
  switch (command->opcode) {
    case ERT_START_CU:
    case ERT_EXEC_WRITE:
    case ERT_START_KEY_VAL:
      return start_unit(card, packet, *reinterpret_cast<ert_start_kernel_cmd*>(data));
    case ERT_INIT_CU:
      return update_arguments(card, packet, *reinterpret_cast<ert_init_kernel_cmd*>(data));
    case ERT_START_COPYBO:
      return copy_buffers(handle, packet, *reinterpret_cast<ert_start_copybo_cmd*>(data));
    case ERT_ABORT:
      return abort_command(handle, packet, *reinterpret_cast<ert_abort_cmd*>(data));
    case ERT_CONFIGURE:
    case ERT_EXIT:
    case ERT_CU_STAT:
      card.complete(packet.packet_offset, ERT_CMD_STATE_COMPLETED);
      return 0;
    default:
      report_error("commands with opcode " + std::to_string(command->opcode) +
                   " (soft kernels, fast adapter) are not emulated");
      return -EOPNOTSUPP;
  }
}

}  // namespace

// XRT waits for a command even if this call refuses it, and keeps the device open until then. So
// such a command is over.
int xclExecBuf(xclDeviceHandle raw, xclBufferHandle id) {
  DeviceHandle* handle = DeviceHandle::check(raw);
  Buffer packet;
  if (handle == nullptr) return -ENODEV;
  if (!handle->find(id, packet) || packet.kind != BufferKind::kCommand) return -EINVAL;
  const int code = execute(*handle, packet);
  if (code != 0 && handle->card()->owned_here()) {
    handle->card()->complete(packet.packet_offset, ERT_CMD_STATE_ABORT);
  }
  return code;
}

int xclExecWait(xclDeviceHandle raw, int timeout_ms) {
  // Another thread may close the device meanwhile.
  const std::shared_ptr<Card> card = DeviceHandle::card_of(raw);
  if (card == nullptr) return -ENODEV;
  const bool changed = card->wait(std::chrono::milliseconds(timeout_ms));
  if (BufferChecks* const checks = card->buffer_checks()) checks->finished();
  return changed ? 1 : 0;
}
