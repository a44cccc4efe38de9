// SPDX-License-Identifier: Apache-2.0
//
// hls::fft<CONFIG>: the Fourier transform core, as a model that computes its values.
//
// CONFIG derives from hls::ip_fft::params_t, whose names are those of all releases: ordering_opt or
// output_ordering, scaling_opt or scaling_options, and so on. Data are arrays or streams of
// std::complex of ap_fixed, float or double; with several channels, arrays [channels][length] or
// samples in turns. Floating point is computed in double precision. Channel c of config_t and
// status_t has its own direction, schedule, overflow and exponent. Times are not modelled.
// Source: Vitis HLS user guide (UG1399), "FFT IP Library". C++11.
#pragma once

#include <complex>
#include <iomanip>  // test benches count on it
#include <stdexcept>
#include <vector>

#include "ap_fixed.h"
#include "ap_int.h"
#include "hls_stream.h"
#include "hls_vector.h"
#include "tandem_fft.h"
#include "tandem_macros_begin.h"

namespace hls {
namespace ip_fft {

enum scaling { scaled = 0, unscaled, block_floating_point };
enum arch {
  automatically_select = 0,
  radix_4_burst_io,
  radix_2_burst_io,
  pipelined_streaming_io,
  radix_2_lite_burst_io
};
enum rounding { truncation = 0, convergent_rounding };
enum mem { block_ram = 0, distributed_ram };
enum opt { use_luts = 0, use_mults_resources, use_mults_performance, use_xtremedsp_slices };
enum ordering { bit_reversed_order = 0, natural_order };
enum type { fixed_point = 0, floating_point };
enum super_sample_rates {
  ssr_1 = 1,
  ssr_2 = 2,
  ssr_4 = 4,
  ssr_8 = 8,
  ssr_16 = 16,
  ssr_32 = 32,
  ssr_64 = 64
};

struct params_t {
  static const unsigned input_width = 16;
  static const unsigned output_width = 16;
  static const unsigned status_width = 8;
  static const unsigned config_width = 16;
  static const unsigned max_nfft = 10;
  static const unsigned log2_transform_length = 10;
  static const bool has_nfft = false;
  static const unsigned channels = 1;
  static const unsigned arch_opt = pipelined_streaming_io;
  static const unsigned phase_factor_width = 16;
  static const unsigned ordering_opt = bit_reversed_order;
  static const unsigned output_ordering = bit_reversed_order;
  static const bool ovflo = true;
  static const unsigned scaling_opt = scaled;
  static const unsigned scaling_options = scaled;
  static const unsigned rounding_opt = truncation;
  static const unsigned rounding_modes = truncation;
  static const unsigned mem_data = block_ram;
  static const unsigned mem_phase_factors = block_ram;
  static const unsigned mem_reorder = block_ram;
  static const unsigned stages_block_ram = 1;
  static const bool mem_hybrid = false;
  static const unsigned complex_mult_type = use_mults_resources;
  static const unsigned butterfly_type = use_luts;
  static const bool xk_index = true;
  static const bool cyclic_prefix_insertion = false;
  static const unsigned super_sample_rate = 1;
  static const bool use_native_float = false;
  static const bool systolicfft_inv = false;
};

// Several samples per clock cycle: no settings at run time, and natural order.
struct ssr_params_t : params_t {
  static const unsigned output_ordering = natural_order;
};

// A setting has two names; the one that differs from the default counts.
template <typename P>
struct settings_of {
  static const unsigned kLog2Length =
      P::max_nfft != params_t::max_nfft ? P::max_nfft : P::log2_transform_length;
  static const bool kNatural =
      P::ordering_opt == natural_order || P::output_ordering == natural_order;
  static const unsigned kScaling =
      P::scaling_opt != params_t::scaling_opt ? P::scaling_opt : P::scaling_options;
  static const bool kConvergent =
      P::rounding_opt == convergent_rounding || P::rounding_modes == convergent_rounding;
  static const bool kRadix2 =
      P::arch_opt == radix_2_burst_io || P::arch_opt == radix_2_lite_burst_io;
};

template <typename P>
class config_t {
 public:
  config_t() : nfft_(settings_of<P>::kLog2Length), prefix_(0) {
    for (unsigned channel = 0; channel < P::channels; ++channel) {
      forward_[channel] = true;
      schedule_[channel] = 0;
    }
  }
  void setNfft(ap_uint<5> log2_length) { nfft_ = log2_length.to_uint(); }
  ap_uint<5> getNfft() const { return nfft_; }
  void setDir(bool forward, unsigned channel = 0) { forward_[checked(channel)] = forward; }
  bool getDir(unsigned channel = 0) const { return forward_[checked(channel)]; }
  void setSch(ap_uint<32> schedule, unsigned channel = 0) {
    schedule_[checked(channel)] = schedule.to_uint();
  }
  unsigned getSch(unsigned channel = 0) const { return schedule_[checked(channel)]; }
  void setCp_len(unsigned samples) { prefix_ = samples; }
  unsigned getCp_len() const { return prefix_; }

 private:
  static unsigned checked(unsigned channel) {
    if (channel >= P::channels) throw std::out_of_range("hls::fft: there is no such channel");
    return channel;
  }
  unsigned nfft_, prefix_;
  bool forward_[P::channels];
  unsigned schedule_[P::channels];
};

template <typename P>
class status_t {
 public:
  status_t() : overflow_(), exponent_() {}
  bool getOvflo(unsigned channel = 0) const { return overflow_[channel]; }
  unsigned getBlkExp(unsigned channel = 0) const { return exponent_[channel]; }
  void setOvflo(bool overflow, unsigned channel = 0) { overflow_[channel] = overflow; }
  void setBlkExp(unsigned exponent, unsigned channel = 0) { exponent_[channel] = exponent; }

 private:
  bool overflow_[P::channels];
  unsigned exponent_[P::channels];
};

}  // namespace ip_fft

namespace fft_detail {

template <typename P, int W>
Settings fixed_settings(unsigned log2_length) {
  typedef ip_fft::settings_of<P> Of;
  const bool grows = Of::kScaling == ip_fft::unscaled;
  return Settings{
      log2_length,
      grows ? W + static_cast<int>(log2_length) + 1 : W,
      static_cast<int>(P::phase_factor_width),
      Of::kRadix2 ? 1U : 2U,
      Of::kScaling == ip_fft::scaled,
      Of::kScaling == ip_fft::block_floating_point,
      Of::kConvergent ? core_detail::Rounding::half_to_even : core_detail::Rounding::down};
}

// Of one channel, in the order that the core gives them out.
template <typename P, typename In, typename Out>
struct Values {
  static_assert(core_detail::fraction_of<In>::value == core_detail::fraction_of<Out>::value,
                "hls::fft: input and output have the same number of fraction bits");
  static void transform(const std::vector<std::complex<In>>& in,
                        std::vector<std::complex<Out>>& out, unsigned log2_length, bool forward,
                        unsigned schedule, Verdict& verdict) {
    std::vector<Point> points(in.size());
    for (std::size_t i = 0; i < in.size(); ++i) {
      points[i] = Point{core_detail::raw_of(in[i].real()), core_detail::raw_of(in[i].imag())};
    }
    verdict =
        FixedTransform(fixed_settings<P, In::width>(log2_length), forward, schedule).run(points);
    for (std::size_t i = 0; i < in.size(); ++i) {
      const std::size_t from = ip_fft::settings_of<P>::kNatural
                                   ? reversed_bits(static_cast<unsigned>(i), log2_length)
                                   : i;
      Out re, im;
      core_detail::set_raw(re, points[from].re);
      core_detail::set_raw(im, points[from].im);
      out[i] = std::complex<Out>(re, im);
    }
  }
};

template <typename P, typename Float>
struct FloatValues {
  static void transform(const std::vector<std::complex<Float>>& in,
                        std::vector<std::complex<Float>>& out, unsigned log2_length, bool forward,
                        unsigned, Verdict& verdict) {
    std::vector<std::complex<double>> points(in.begin(), in.end());
    float_transform(points, forward);
    for (std::size_t i = 0; i < in.size(); ++i) {
      const std::size_t from = ip_fft::settings_of<P>::kNatural
                                   ? i
                                   : reversed_bits(static_cast<unsigned>(i), log2_length);
      out[i] = std::complex<Float>(static_cast<Float>(points[from].real()),
                                   static_cast<Float>(points[from].imag()));
    }
    verdict = Verdict();
  }
};
template <typename P>
struct Values<P, float, float> : FloatValues<P, float> {};
template <typename P>
struct Values<P, double, double> : FloatValues<P, double> {};

// All channels: `take` gives sample n of channel c, `put` gets value n of it.
template <typename P, typename In, typename Out, typename Take, typename Put>
void channels(const ip_fft::config_t<P>& config, ip_fft::status_t<P>& status, Take take, Put put) {
  const unsigned log2_length =
      P::has_nfft ? config.getNfft().to_uint() : ip_fft::settings_of<P>::kLog2Length;
  if (log2_length > ip_fft::settings_of<P>::kLog2Length) {
    throw std::invalid_argument("hls::fft: the length is above the configured one");
  }
  const std::size_t length = std::size_t(1) << log2_length;
  if (config.getCp_len() > length) throw std::invalid_argument("hls::fft: the prefix is too long");
  std::vector<std::vector<std::complex<In>>> in(P::channels, std::vector<std::complex<In>>(length));
  for (std::size_t n = 0; n < length; ++n) {
    for (unsigned c = 0; c < P::channels; ++c) in[c][n] = take(c, n);
  }
  std::vector<std::vector<std::complex<Out>>> out(P::channels,
                                                  std::vector<std::complex<Out>>(length));
  for (unsigned c = 0; c < P::channels; ++c) {
    Verdict verdict;
    Values<P, In, Out>::transform(in[c], out[c], log2_length, config.getDir(c), config.getSch(c),
                                  verdict);
    status.setOvflo(verdict.overflow, c);
    status.setBlkExp(verdict.exponent, c);
  }
  const std::size_t prefix = config.getCp_len();
  for (std::size_t n = 0; n < prefix + length; ++n) {
    const std::size_t from = n < prefix ? length - prefix + n : n - prefix;
    for (unsigned c = 0; c < P::channels; ++c) put(c, n, out[c][from]);
  }
}

template <typename P>
ip_fft::config_t<P> one_channel(bool forward, unsigned schedule, int prefix) {
  static_assert(P::channels == 1, "hls::fft: several channels need a config_t");
  ip_fft::config_t<P> config;
  config.setDir(forward);
  config.setSch(schedule);
  config.setCp_len(prefix > 0 ? static_cast<unsigned>(prefix) : 0);
  return config;
}

}  // namespace fft_detail

template <typename P, typename In, typename Out>
void fft(std::complex<In>* xn, std::complex<Out>* xk, ip_fft::status_t<P>* status,
         ip_fft::config_t<P>* config) {
  static_assert(P::channels == 1, "hls::fft: several channels need arrays [channels][length]");
  fft_detail::channels<P, In, Out>(
      *config, *status, [&](unsigned, std::size_t n) { return xn[n]; },
      [&](unsigned, std::size_t n, const std::complex<Out>& value) { xk[n] = value; });
}
template <typename P, typename In, typename Out, std::size_t N, std::size_t M>
void fft(std::complex<In> (*xn)[N], std::complex<Out> (*xk)[M], ip_fft::status_t<P>* status,
         ip_fft::config_t<P>* config) {
  fft_detail::channels<P, In, Out>(
      *config, *status, [&](unsigned c, std::size_t n) { return xn[c][n]; },
      [&](unsigned c, std::size_t n, const std::complex<Out>& value) { xk[c][n] = value; });
}
template <typename P, typename In, typename Out>
void fft(stream<std::complex<In>>& xn, stream<std::complex<Out>>& xk,
         stream<ip_fft::status_t<P>>& status, stream<ip_fft::config_t<P>>& config) {
  ip_fft::status_t<P> verdict;
  fft_detail::channels<P, In, Out>(
      config.read(), verdict, [&](unsigned, std::size_t) { return xn.read(); },
      [&](unsigned, std::size_t, const std::complex<Out>& value) { xk.write(value); });
  status.write(verdict);
}

// Settings as arguments: direction (true is forward), schedule, length of the cyclic prefix or -1.
template <typename P, typename In, typename Out, typename Direction, typename Schedule>
void fft(std::complex<In>* xn, std::complex<Out>* xk, const Direction& forward,
         const Schedule& schedule, int prefix, bool* overflow) {
  ip_fft::status_t<P> status;
  ip_fft::config_t<P> config = fft_detail::one_channel<P>(static_cast<bool>(forward),
                                                          static_cast<unsigned>(schedule), prefix);
  fft<P>(xn, xk, &status, &config);
  *overflow = status.getOvflo();
}
template <typename P, typename In, typename Out, typename Direction, typename Schedule>
void fft(stream<std::complex<In>>& xn, stream<std::complex<Out>>& xk, const Direction& forward,
         const Schedule& schedule, int prefix, bool* overflow) {
  ip_fft::status_t<P> status;
  fft_detail::channels<P, In, Out>(
      fft_detail::one_channel<P>(static_cast<bool>(forward), static_cast<unsigned>(schedule),
                                 prefix),
      status, [&](unsigned, std::size_t) { return xn.read(); },
      [&](unsigned, std::size_t, const std::complex<Out>& value) { xk.write(value); });
  *overflow = status.getOvflo();
}

// Nothing at run time: the direction is that of systolicfft_inv.
template <typename P, typename In, typename Out>
void fft(std::complex<In>* xn, std::complex<Out>* xk) {
  ip_fft::status_t<P> status;
  ip_fft::config_t<P> config = fft_detail::one_channel<P>(!P::systolicfft_inv, 0, -1);
  fft<P>(xn, xk, &status, &config);
}
template <typename P, typename In, typename Out, std::size_t S>
void fft(stream<vector<std::complex<In>, S>>& xn, stream<vector<std::complex<Out>, S>>& xk) {
  const std::size_t length = std::size_t(1) << ip_fft::settings_of<P>::kLog2Length;
  std::vector<std::complex<In>> in(length);
  std::vector<std::complex<Out>> out(length);
  for (std::size_t at = 0; at < length; at += S) {
    const vector<std::complex<In>, S> samples = xn.read();
    for (std::size_t i = 0; i < S; ++i) in[at + i] = samples[i];
  }
  fft<P>(in.data(), out.data());
  for (std::size_t at = 0; at < length; at += S) {
    vector<std::complex<Out>, S> values;
    for (std::size_t i = 0; i < S; ++i) values[i] = out[at + i];
    xk.write(values);
  }
}

}  // namespace hls

#include "tandem_macros_end.h"
