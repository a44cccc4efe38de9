// SPDX-License-Identifier: Apache-2.0
//
// hls::FIR<CONFIG>: the filter core, as a model that computes its values.
//
// CONFIG derives from hls::ip_fir::params_t and has coeff_vec. run() takes input_length samples of
// all channels in turns and gives output_length values; what it has seen stays for the next run.
// Sums are exact, then rounded to the output's fraction bits and cut to its width. A third argument
// is the number of the coefficient set. Hilbert filters and reloaded coefficients are refused.
// Times are not modelled. Source: Vitis HLS user guide (UG1399), "FIR Filter IP Library". C++11.
#pragma once

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "ap_fixed.h"
#include "ap_int.h"
#include "hls_stream.h"
#include "tandem_fixed_raw.h"
#include "tandem_macros_begin.h"

namespace hls {
namespace ip_fir {

enum filter_type { single_rate = 0, interpolation, decimation, hilbert_filter, interpolated };
enum rate_change { integer = 0, fixed_fractional };
enum chan_sequence { basic = 0, advanced };
enum rate_specification { frequency = 0, period };
enum quantization { integer_coefficients = 0, quantize_only, maximize_dynamic_range };
enum coeff_structure {
  inferred = 0,
  non_symmetric,
  symmetric,
  negative_symmetric,
  half_band,
  hilbert
};
enum output_rounding_mode {
  full_precision = 0,
  truncate_lsbs,
  non_symmetric_rounding_down,
  non_symmetric_rounding_up,
  symmetric_rounding_to_zero,
  symmetric_rounding_to_infinity,
  convergent_rounding_to_even,
  convergent_rounding_to_odd
};
enum filter_arch { systolic_multiply_accumulate = 0, transpose_multiply_accumulate };
enum optimization_goal { area = 0, speed };
enum config_sync_mode { on_vector = 0, on_packet };
enum config_method { single = 0, by_channel };
enum value_fields { not_required = 0, chan_id_field, user_field, chan_id_and_user_field };

struct params_t {
  static const unsigned input_width = 16;
  static const unsigned input_fractional_bits = 0;
  static const unsigned output_width = 24;
  static const unsigned output_fractional_bits = 0;
  static const unsigned coeff_width = 16;
  static const unsigned coeff_fractional_bits = 0;
  static const unsigned num_coeffs = 21;
  static const unsigned coeff_sets = 1;
  static const unsigned input_length = num_coeffs;
  static const unsigned output_length = num_coeffs;
  static const unsigned num_channels = 1;
  static const unsigned total_num_coeff = num_coeffs * coeff_sets;
  static const unsigned filter_type = single_rate;
  static const unsigned rate_change = integer;
  static const unsigned interp_rate = 1;
  static const unsigned decim_rate = 1;
  static const unsigned zero_pack_factor = 1;
  static const unsigned chan_seq = basic;
  static const unsigned rate_specification = period;
  static const unsigned hardware_oversampling_rate = 1;
  static const unsigned quantization = integer_coefficients;
  static const bool best_precision = false;
  static const unsigned coeff_structure = inferred;
  static const unsigned output_rounding_mode = full_precision;
  static const unsigned filter_arch = systolic_multiply_accumulate;
  static const unsigned optimization_goal = area;
  static const unsigned inter_column_pipe_length = 4;
  static const unsigned column_config = 1;
  static const unsigned config_sync_mode = on_vector;
  static const unsigned config_method = single;
  static const unsigned coeff_padding = 0;
  static const unsigned config_width = 8;
  static const bool coeff_reload = false;
};

}  // namespace ip_fir

namespace fir_detail {

inline core_detail::Rounding rounding_of(unsigned mode) {
  switch (mode) {
    case ip_fir::non_symmetric_rounding_down:
      return core_detail::Rounding::half_down;
    case ip_fir::non_symmetric_rounding_up:
      return core_detail::Rounding::half_up;
    case ip_fir::symmetric_rounding_to_zero:
      return core_detail::Rounding::half_to_zero;
    case ip_fir::symmetric_rounding_to_infinity:
      return core_detail::Rounding::half_away;
    case ip_fir::convergent_rounding_to_even:
      return core_detail::Rounding::half_to_even;
    case ip_fir::convergent_rounding_to_odd:
      return core_detail::Rounding::half_to_odd;
    default:
      return core_detail::Rounding::down;
  }
}

}  // namespace fir_detail

template <typename P>
class FIR {
  static_assert(P::filter_type != ip_fir::hilbert_filter,
                "hls::FIR: Hilbert filters are not modelled");
  static_assert(!P::coeff_reload, "hls::FIR: reloaded coefficients are not modelled");

 public:
  FIR()
      : delays_(P::num_channels, std::vector<core_detail::Raw>(kTaps, 0)),
        phases_(P::num_channels, 0) {}

  template <typename In, typename Out>
  void run(In* in, Out* out) {
    filter<In, Out>(
        0, [&](unsigned n) { return in[n]; },
        [&](unsigned n, const Out& value) { out[n] = value; });
  }
  template <typename In, typename Out, typename Config>
  void run(In* in, Out* out, Config* config) {
    filter<In, Out>(
        checked_set(static_cast<unsigned>(*config)), [&](unsigned n) { return in[n]; },
        [&](unsigned n, const Out& value) { out[n] = value; });
  }
  template <typename In, typename Out>
  void run(stream<In>& in, stream<Out>& out) {
    filter<In, Out>(
        0, [&](unsigned) { return in.read(); },
        [&](unsigned, const Out& value) { out.write(value); });
  }
  template <typename In, typename Out, typename Config>
  void run(stream<In>& in, stream<Out>& out, stream<Config>& config) {
    filter<In, Out>(
        checked_set(static_cast<unsigned>(config.read())), [&](unsigned) { return in.read(); },
        [&](unsigned, const Out& value) { out.write(value); });
  }

 private:
  static const unsigned kUp =
      P::filter_type == ip_fir::interpolation || P::rate_change == ip_fir::fixed_fractional
          ? P::interp_rate
          : 1;
  static const unsigned kDown =
      P::filter_type == ip_fir::decimation || P::rate_change == ip_fir::fixed_fractional
          ? P::decim_rate
          : 1;
  static const unsigned kSpacing = P::filter_type == ip_fir::interpolated ? P::zero_pack_factor : 1;
  static const unsigned kTaps = (P::num_coeffs - 1) * kSpacing + 1;

  static unsigned checked_set(unsigned set) {
    if (set >= P::coeff_sets) {
      throw std::out_of_range("hls::FIR: there is no coefficient set " + std::to_string(set));
    }
    return set;
  }

  // With kUp, each sample is followed by zeros; of the values kDown, the last is given out.
  template <typename In, typename Out, typename Take, typename Put>
  void filter(unsigned set, Take take, Put put) {
    unsigned given = 0;
    for (unsigned first = 0; first < P::input_length; first += P::num_channels) {
      std::vector<In> samples;
      for (unsigned c = 0; c < P::num_channels; ++c) samples.push_back(take(first + c));
      for (unsigned step = 0; step < kUp; ++step) {
        for (unsigned c = 0; c < P::num_channels; ++c) {
          push(delays_[c], step == 0 ? core_detail::raw_of(samples[c]) : 0);
          if (++phases_[c] < kDown) continue;
          phases_[c] = 0;
          if (given < P::output_length) put(given++, value<In, Out>(set, delays_[c]));
        }
      }
    }
    if (given != P::output_length) {
      throw std::invalid_argument(
          "hls::FIR: output_length does not fit input_length and the rates");
    }
  }

  static void push(std::vector<core_detail::Raw>& delay, core_detail::Raw sample) {
    for (std::size_t at = delay.size() - 1; at > 0; --at) delay[at] = delay[at - 1];
    delay[0] = sample;
  }

  template <typename In, typename Out>
  static Out value(unsigned set, const std::vector<core_detail::Raw>& delay) {
    core_detail::Wide sum = 0;
    for (unsigned tap = 0; tap < P::num_coeffs; ++tap) {
      const double number = P::coeff_vec[set * P::num_coeffs + tap];
      const double raw = std::floor(std::ldexp(number, P::coeff_fractional_bits) + 0.5);
      sum += static_cast<core_detail::Wide>(
                 core_detail::signed_bits(static_cast<core_detail::Wide>(raw), P::coeff_width)) *
             delay[tap * kSpacing];
    }
    const int drop = core_detail::fraction_of<In>::value +
                     static_cast<int>(P::coeff_fractional_bits) -
                     core_detail::fraction_of<Out>::value;
    Out result;
    core_detail::set_raw(
        result, core_detail::shifted(sum, drop, fir_detail::rounding_of(P::output_rounding_mode)));
    return result;
  }

  std::vector<std::vector<core_detail::Raw>> delays_;  // by channel, the newest sample first
  std::vector<unsigned> phases_;                       // samples since the last value
};

}  // namespace hls

#include "tandem_macros_end.h"
