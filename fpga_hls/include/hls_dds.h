// SPDX-License-Identifier: Apache-2.0
//
// hls::DDS<CONFIG>: the sine and cosine generator, as a model that computes its values.
//
// CONFIG derives from hls::ip_dds::params_t and has PINC and POFF, in units of the phase's least
// bit, per channel. run() gives input_length values of all channels in turns and goes on there at
// the next run. A value is the sine or cosine of the phase, scaled to the amplitude and rounded.
// Without noise shaping the core cuts the phase to a table's width, and Taylor correction and
// dither change last bits; the model uses the whole phase. Times are not modelled. Source: Vitis
// HLS user guide (UG1399), "DDS IP Library"; PG141. C++11.
#pragma once

#include <cmath>
#include <stdexcept>
#include <vector>

#include "ap_fixed.h"
#include "ap_int.h"
#include "hls_stream.h"
#include "tandem_fixed_raw.h"
#include "tandem_macros_begin.h"

namespace hls {
namespace ip_dds {

enum mode_of_operation { XIP_DDS_MOO_CONVENTIONAL = 0, XIP_DDS_MOO_RASTERIZED };
enum noise_shaping { XIP_DDS_NS_NONE = 0, XIP_DDS_NS_DITHER, XIP_DDS_NS_TAYLOR, XIP_DDS_NS_AUTO };
enum phase_source {
  XIP_DDS_PINCPOFF_NONE = 0,
  XIP_DDS_PINCPOFF_FIXED,
  XIP_DDS_PINCPOFF_PROG,
  XIP_DDS_PINCPOFF_STREAM
};
enum output_selection { XIP_DDS_OUT_SIN_ONLY = 0, XIP_DDS_OUT_COS_ONLY, XIP_DDS_OUT_SIN_AND_COS };
enum amplitude_mode { XIP_DDS_FULL_RANGE = 0, XIP_DDS_UNIT_CIRCLE };
enum memory_type { XIP_DDS_MEM_AUTO = 0, XIP_DDS_MEM_BLOCK, XIP_DDS_MEM_DIST };
enum optimization_goal { XIP_DDS_OPTGOAL_AUTO = 0, XIP_DDS_OPTGOAL_AREA, XIP_DDS_OPTGOAL_SPEED };
enum dsp48_use { XIP_DDS_DSP_MIN = 0, XIP_DDS_DSP_MAX };

struct params_t {
  static const unsigned Channels = 1;
  static const unsigned Mode_of_Operation = XIP_DDS_MOO_CONVENTIONAL;
  static const unsigned Modulus = 200;
  static const unsigned Noise_Shaping = XIP_DDS_NS_NONE;
  static const unsigned Phase_Width = 16;
  static const unsigned Output_Width = 16;
  static const unsigned Phase_Increment = XIP_DDS_PINCPOFF_FIXED;
  static const unsigned Phase_Offset = XIP_DDS_PINCPOFF_NONE;
  static const unsigned Output_Selection = XIP_DDS_OUT_SIN_AND_COS;
  static const bool Negative_Sine = false;
  static const bool Negative_Cosine = false;
  static const unsigned Amplitude_Mode = XIP_DDS_FULL_RANGE;
  static const unsigned Memory_Type = XIP_DDS_MEM_AUTO;
  static const unsigned Optimization_Goal = XIP_DDS_OPTGOAL_AUTO;
  static const unsigned DSP48_Use = XIP_DDS_DSP_MIN;
  static const unsigned Latency_Config = 0;
  static const int Latency = -1;
  static const bool Has_Phase_Out = true;
  static const unsigned input_length = 16;
  static const unsigned output_length = 16;
  static const unsigned phase_fractional_bits = 0;
  static const unsigned output_fractional_bits = 0;
};

// Sine and cosine of one sample.
template <typename P>
class out_data_sin_cos {
 public:
  static const int kWidth = (static_cast<int>(P::Output_Width) + 7) / 8 * 8;
  typedef ap_fixed<kWidth, kWidth - static_cast<int>(P::output_fractional_bits)> value_t;
  value_t get_sin() const { return sine_; }
  value_t get_cos() const { return cosine_; }
  void set_sin(const value_t& value) { sine_ = value; }
  void set_cos(const value_t& value) { cosine_ = value; }

 private:
  value_t sine_, cosine_;
};

}  // namespace ip_dds

template <typename P>
class DDS {
  static_assert(P::Channels >= 1 && P::Channels <= 16, "hls::DDS: 1 to 16 channels");
  static_assert(P::Phase_Width <= 48 && P::Output_Width <= 32, "hls::DDS: a width is too large");
  static_assert(P::Phase_Increment == ip_dds::XIP_DDS_PINCPOFF_FIXED,
                "hls::DDS: the phase increment is fixed");
  static_assert(P::Phase_Offset == ip_dds::XIP_DDS_PINCPOFF_NONE ||
                    P::Phase_Offset == ip_dds::XIP_DDS_PINCPOFF_FIXED,
                "hls::DDS: the phase offset is fixed or none");

 public:
  static const int kPhaseBits = (static_cast<int>(P::Phase_Width) + 7) / 8 * 8;
  typedef ap_ufixed<kPhaseBits, kPhaseBits - static_cast<int>(P::phase_fractional_bits)>
      out_phase_t;
  typedef typename ip_dds::out_data_sin_cos<P>::value_t out_data_t;

  DDS() : phases_(P::Channels, 0) {}

  template <typename Data, typename Phase>
  void run(Data* data, Phase* phase) {
    for (unsigned n = 0; n < P::input_length; ++n) next(n % P::Channels, data[n], phase[n]);
  }
  template <typename Data, typename Phase>
  void run(stream<Data>& data, stream<Phase>& phase) {
    for (unsigned n = 0; n < P::input_length; ++n) {
      Data value;
      Phase angle;
      next(n % P::Channels, value, angle);
      data.write(value);
      phase.write(angle);
    }
  }

 private:
  static long long turn() {
    return P::Mode_of_Operation == ip_dds::XIP_DDS_MOO_RASTERIZED
               ? static_cast<long long>(P::Modulus)
               : 1LL << P::Phase_Width;
  }
  static long long within_turn(long long phase) {
    const long long rest = phase % turn();
    return rest < 0 ? rest + turn() : rest;
  }

  template <typename Data, typename Phase>
  void next(unsigned channel, Data& data, Phase& phase) {
    const long long offset = P::Phase_Offset == ip_dds::XIP_DDS_PINCPOFF_FIXED
                                 ? static_cast<long long>(P::POFF[channel])
                                 : 0;
    const long long angle = within_turn(phases_[channel] + offset);
    core_detail::set_raw(phase, angle);
    give(angle, data);
    phases_[channel] = within_turn(phases_[channel] + static_cast<long long>(P::PINC[channel]));
  }

  // A quarter of a turn is exactly zero or the amplitude.
  static core_detail::Raw value(long long angle, bool sine) {
    const double scale = std::ldexp(1.0, static_cast<int>(P::Output_Width) - 1);
    const double amplitude =
        P::Amplitude_Mode == ip_dds::XIP_DDS_UNIT_CIRCLE ? scale / 2 : scale - 1;
    const double radians =
        2.0 * 3.14159265358979323846 * static_cast<double>(angle) / static_cast<double>(turn());
    const double exact = amplitude * (sine ? std::sin(radians) : std::cos(radians));
    const bool negative = sine ? P::Negative_Sine : P::Negative_Cosine;
    return static_cast<core_detail::Raw>(std::floor((negative ? -exact : exact) + 0.5));
  }

  static void give(long long angle, ip_dds::out_data_sin_cos<P>& data) {
    out_data_t number;
    core_detail::set_raw(number, value(angle, true));
    data.set_sin(number);
    core_detail::set_raw(number, value(angle, false));
    data.set_cos(number);
  }
  template <typename Data>
  static void give(long long angle, Data& data) {
    static_assert(P::Output_Selection != ip_dds::XIP_DDS_OUT_SIN_AND_COS,
                  "hls::DDS: sine and cosine need hls::ip_dds::out_data_sin_cos");
    core_detail::set_raw(data, value(angle, P::Output_Selection == ip_dds::XIP_DDS_OUT_SIN_ONLY));
  }

  std::vector<long long> phases_;
};

}  // namespace hls

#include "tandem_macros_end.h"
