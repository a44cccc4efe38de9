// SPDX-License-Identifier: Apache-2.0
//
// SparseUnit: a device that keeps a sparse matrix and multiplies it with vectors (CPU, GPU, card,
// or several of them by rows).
//
// load() copies the rows to the device. start() begins a product and may return before it is done;
// finish() waits. Between the two the caller keeps x and y as they are. Rates predict the seconds
// of a product: those of a card by its model of a real card, those of others are measured.
// Numerics: f32; every unit states the order of its sums, and on_host() repeats them. Threads: one
// at a time. Errors: Error for wrong calls, with nothing changed. SparseRoomError if memory is
// short; the unit stays in use (see there). DeviceError if started work failed or missed the
// deadline; the unit is lost, and every later call fails at once.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/deadline.h"
#include "common/error.h"

namespace tandem::device {

class Device;

// Fewer rows may fit. After load() and rates() the unit has its old rows or none; after start() and
// finish() it has its rows, but no product.
class SparseRoomError : public Error {
 public:
  using Error::Error;
};

// Rows of a matrix: row r has the entries [begins[r], begins[r + 1]) of the two arrays.
struct SparseRows {
  std::uint64_t columns = 0;
  std::span<const std::uint64_t> begins;  // [rows + 1] ascending
  const std::int32_t* indices = nullptr;  // columns, ascending in a row
  const float* values = nullptr;
  // Keeps the arrays. Null: the caller keeps them until the unit that took them is destroyed, since
  // a call that share_sparse_rows() gave up may still read them.
  std::shared_ptr<const void> owner = nullptr;

  std::uint64_t rows() const { return begins.empty() ? 0 : begins.size() - 1; }
  std::uint64_t entries() const { return begins.empty() ? 0 : begins.back() - begins.front(); }
  SparseRows slice(std::uint64_t first, std::uint64_t last) const {
    return {columns, begins.subspan(first, last - first + 1), indices, values, owner};
  }
};

// The predicted seconds of a product with some rows of a matrix.
struct SparseRates {
  double fixed_s = 0, row_s = 0, entry_s = 0;
  bool is_modelled = false;  // a model of the hardware; else measured on this machine

  double seconds(std::uint64_t rows, std::uint64_t entries) const {
    return rows == 0 ? 0
                     : fixed_s + row_s * static_cast<double>(rows) +
                           entry_s * static_cast<double>(entries);
  }
};

// A device's part of a product.
struct SparsePart {
  std::string device;
  std::uint64_t first_row = 0, last_row = 0, entries = 0;
  double predicted_s = 0;  // by the rates, or by the model of exactly these rows
  bool is_modelled = false;
  double host_s = 0;             // from start() until finish() had the result
  std::string host_reason = {};  // why the host computed these rows for the device; empty: it works
};

class SparseUnit {
 public:
  virtual ~SparseUnit() = default;
  virtual std::string name() const = 0;  // "xrt:0"
  // Computes in the calling thread and waits for no device, so its calls always return.
  virtual bool works_on_host() const { return false; }

  // For products with rows of this matrix. Replaces loaded rows where it measures.
  virtual SparseRates rates(const SparseRows& matrix, Deadline deadline) = 0;

  virtual void load(const SparseRows& rows, Deadline deadline) = 0;

  // x: [columns] of the loaded rows.
  virtual void start(std::span<const float> x, Deadline deadline) = 0;

  // y: [rows]. Returns the parts in the order of their rows; the last start() is then complete.
  virtual std::vector<SparsePart> finish(std::span<float> y, Deadline deadline) = 0;

  // The product of any rows with the bits of this unit's, by the host; also once the unit is lost,
  // and while another call has not returned.
  virtual void on_host(const SparseRows& rows, std::span<const float> x,
                       std::span<float> y) const = 0;
};

// A device that makes sparse units is one of these, too.
class SparseDevice {
 public:
  virtual ~SparseDevice() = default;
  virtual std::unique_ptr<SparseUnit> make_sparse_unit() = 0;
};

// Error, naming the device, if it makes none. The device outlives the unit.
std::unique_ptr<SparseUnit> make_sparse_unit(Device& device);

// Several units as one. load() gives each unit consecutive rows so that, by their rates, all end at
// about the same time; a unit whose fixed time is too long gets none. The first unit that works on
// the host does so in the caller's thread. Every other one has a thread, which moves data and
// waits, so transfers overlap with the work of the others. A load that fails leaves no rows. The
// arrays of the loaded rows stay (SparseRows::owner), for the host:
// - A lost unit: the host computes its rows with the same bits, in that product and the next ones.
//   The next load() divides among the others. DeviceError once all are lost.
// - A unit with a thread whose call has not returned a second after its deadline is lost as well.
//   That call works on copies of x and y, so the caller may free both after finish(). Its unit is
//   not called again, and the destructor waits until that call has returned.
// - A unit short of memory stays in use. In a load it gets fewer rows, and the others the rest;
//   rows for which none has room are the host's. In a product the host computes its rows once.
// - Deadlines: units that are measured one after the other, attempts of a load, and a start before
//   its finish divide the time that the caller gave. So one that hangs takes its own part, and the
//   others have theirs. What the host computes comes after it.
std::unique_ptr<SparseUnit> share_sparse_rows(std::vector<std::unique_ptr<SparseUnit>> units);

}  // namespace tandem::device
