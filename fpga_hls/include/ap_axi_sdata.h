// SPDX-License-Identifier: Apache-2.0
//
// hls::axis<T, ...>, ap_axis, ap_axiu and qdma_axis: one beat of an AXI4-Stream with its side
// channels.
//
// keep, strb and last exist by default; the enabling flags remove them. user, id and dest exist
// where their width is not 0. A channel that does not exist accepts any value and stores none. It
// reads as the protocol's default: keep and strb all ones, the others 0. So code may name it. T is
// any type; ap_axis and ap_axiu hold an ap_int or ap_uint. Source: Vitis HLS user guide (UG1399),
// "AXI4-Stream Interfaces with Side-Channels", "Customizing AXI4-Stream Interfaces". C++11.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ap_int.h"

#include "tandem_macros_begin.h"

#define AXIS_ENABLE_DATA 0b00000001
#define AXIS_ENABLE_DEST 0b00000010
#define AXIS_ENABLE_ID 0b00000100
#define AXIS_ENABLE_KEEP 0b00001000
#define AXIS_ENABLE_LAST 0b00010000
#define AXIS_ENABLE_STRB 0b00100000
#define AXIS_ENABLE_USER 0b01000000
#define AXIS_DISABLE_DATA (0b11111111 ^ AXIS_ENABLE_DATA)
#define AXIS_DISABLE_DEST (0b11111111 ^ AXIS_ENABLE_DEST)
#define AXIS_DISABLE_ID (0b11111111 ^ AXIS_ENABLE_ID)
#define AXIS_DISABLE_KEEP (0b11111111 ^ AXIS_ENABLE_KEEP)
#define AXIS_DISABLE_LAST (0b11111111 ^ AXIS_ENABLE_LAST)
#define AXIS_DISABLE_STRB (0b11111111 ^ AXIS_ENABLE_STRB)
#define AXIS_DISABLE_USER (0b11111111 ^ AXIS_ENABLE_USER)
#define AXIS_ENABLE_ALL 0b01111111
#define AXIS_DISABLE_ALL 0b00000000

namespace hls {
namespace axis_detail {

// The number of bytes of a beat. For an ap type: its bits, rounded up to bytes; for any other type:
// its size.
template <typename T>
constexpr std::size_t bytes_of(decltype(T::width)*) {
  return (static_cast<std::size_t>(T::width) + 7) / 8;
}
template <typename T>
constexpr std::size_t bytes_of(...) {
  return sizeof(T);
}

// A side channel that is not on the interface.
template <std::size_t W, int Default>
struct Absent {
  Absent() = default;
  template <typename T>
  Absent(const T&) {}
  template <typename T>
  Absent& operator=(const T&) {
    return *this;
  }
  operator ap_uint<W>() const { return ap_uint<W>(Default); }
};

template <bool Present, std::size_t W, int Default>
struct Channel {
  typedef ap_uint<static_cast<int>(W)> type;
};
template <std::size_t W, int Default>
struct Channel<false, W, Default> {
  typedef Absent<(W == 0 ? 1 : W), Default> type;
};

constexpr bool enabled(std::uint8_t signals, int which) { return (signals & which) != 0; }

}  // namespace axis_detail

template <typename T, std::size_t WUser = 0, std::size_t WId = 0, std::size_t WDest = 0,
          std::uint8_t EnableSignals = (AXIS_ENABLE_KEEP | AXIS_ENABLE_LAST | AXIS_ENABLE_STRB),
          bool StrictEnablement = false>
struct axis {
  static constexpr std::size_t width = axis_detail::bytes_of<T>(nullptr);
  static constexpr bool has_data = true;
  static constexpr bool has_keep = axis_detail::enabled(EnableSignals, AXIS_ENABLE_KEEP);
  static constexpr bool has_strb = axis_detail::enabled(EnableSignals, AXIS_ENABLE_STRB);
  static constexpr bool has_last = axis_detail::enabled(EnableSignals, AXIS_ENABLE_LAST);
  static constexpr bool has_user =
      WUser != 0 && (!StrictEnablement || axis_detail::enabled(EnableSignals, AXIS_ENABLE_USER));
  static constexpr bool has_id =
      WId != 0 && (!StrictEnablement || axis_detail::enabled(EnableSignals, AXIS_ENABLE_ID));
  static constexpr bool has_dest =
      WDest != 0 && (!StrictEnablement || axis_detail::enabled(EnableSignals, AXIS_ENABLE_DEST));
  typedef T Type_Data;
  typedef typename axis_detail::Channel<has_keep, width, -1>::type Type_Keep;
  typedef typename axis_detail::Channel<has_strb, width, -1>::type Type_Strb;
  typedef typename axis_detail::Channel<has_user, WUser, 0>::type Type_User;
  typedef typename axis_detail::Channel<has_last, 1, 0>::type Type_Last;
  typedef typename axis_detail::Channel<has_id, WId, 0>::type Type_Id;
  typedef typename axis_detail::Channel<has_dest, WDest, 0>::type Type_Dest;

  Type_Data data;
  Type_Keep keep;
  Type_Strb strb;
  Type_User user;
  Type_Last last;
  Type_Id id;
  Type_Dest dest;

  Type_Data& get_data() { return data; }
  const Type_Data& get_data() const { return data; }
  Type_Keep get_keep() const { return keep; }
  Type_Strb get_strb() const { return strb; }
  Type_User get_user() const { return user; }
  Type_Last get_last() const { return last; }
  Type_Id get_id() const { return id; }
  Type_Dest get_dest() const { return dest; }
  void set_data(const Type_Data& value) { data = value; }
  void set_keep(const Type_Keep& value) { keep = value; }
  void set_strb(const Type_Strb& value) { strb = value; }
  void set_user(const Type_User& value) { user = value; }
  void set_last(const Type_Last& value) { last = value; }
  void set_id(const Type_Id& value) { id = value; }
  void set_dest(const Type_Dest& value) { dest = value; }
  // Marks every byte of the beat as valid.
  void keep_all() { keep = -1; }
  void strb_all() { strb = -1; }
};

// A beat of data with chosen keep, strb and last only.
template <typename T,
          std::uint8_t EnableSignals = (AXIS_ENABLE_KEEP | AXIS_ENABLE_LAST | AXIS_ENABLE_STRB)>
using axis_data = axis<T, 0, 0, 0, EnableSignals, false>;

// A beat that carries its payload in TUSER; there is no data.
template <std::size_t WUser, std::uint8_t EnableSignals = AXIS_ENABLE_LAST>
using axis_user = axis<ap_uint<1>, WUser, 0, 0, EnableSignals, false>;

}  // namespace hls

template <std::size_t WData, std::size_t WUser = 0, std::size_t WId = 0, std::size_t WDest = 0,
          std::uint8_t EnableSignals = (AXIS_ENABLE_KEEP | AXIS_ENABLE_LAST | AXIS_ENABLE_STRB),
          bool StrictEnablement = false>
using ap_axis = hls::axis<ap_int<WData>, WUser, WId, WDest, EnableSignals, StrictEnablement>;

template <std::size_t WData, std::size_t WUser = 0, std::size_t WId = 0, std::size_t WDest = 0,
          std::uint8_t EnableSignals = (AXIS_ENABLE_KEEP | AXIS_ENABLE_LAST | AXIS_ENABLE_STRB),
          bool StrictEnablement = false>
using ap_axiu = hls::axis<ap_uint<WData>, WUser, WId, WDest, EnableSignals, StrictEnablement>;

// A beat of the host's queues: keep and last, no strb.
template <std::size_t WData, std::size_t WUser = 0, std::size_t WId = 0, std::size_t WDest = 0>
using qdma_axis =
    hls::axis<ap_uint<WData>, WUser, WId, WDest, (AXIS_ENABLE_KEEP | AXIS_ENABLE_LAST), false>;

#include "tandem_macros_end.h"
