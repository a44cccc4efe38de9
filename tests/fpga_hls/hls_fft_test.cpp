// SPDX-License-Identifier: Apache-2.0
//
// The model of the FFT core against transforms in double precision.
#include <gtest/gtest.h>
#include <hls_fft.h>

#include <numeric>
#include <random>

namespace {

typedef ap_fixed<16, 1> Sample;
typedef std::complex<Sample> Complex;
typedef std::complex<double> Exact;

std::vector<Exact> exact_transform(const std::vector<Exact>& in, bool forward) {
  const std::size_t length = in.size();
  std::vector<Exact> out(length);
  for (std::size_t k = 0; k < length; ++k) {
    for (std::size_t n = 0; n < length; ++n) {
      const double angle = (forward ? -2.0 : 2.0) * M_PI * double(k * n % length) / double(length);
      out[k] += in[n] * std::polar(1.0, angle);
    }
  }
  return out;
}

std::vector<Complex> noise(std::size_t length, double amplitude, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> value(-amplitude, amplitude);
  std::vector<Complex> result(length);
  for (Complex& each : result) {
    const Sample re = value(random), im = value(random);
    each = Complex(re, im);
  }
  return result;
}

template <typename T>
Exact exact(const std::complex<T>& value) {
  return Exact(double(value.real()), double(value.imag()));
}
template <typename T>
std::vector<Exact> exact(const std::vector<std::complex<T>>& values) {
  std::vector<Exact> result;
  for (const std::complex<T>& each : values) result.push_back(exact(each));
  return result;
}

struct Natural : hls::ip_fft::params_t {
  static const unsigned ordering_opt = hls::ip_fft::natural_order;
  static const unsigned max_nfft = 7;
};
struct NewNames : hls::ip_fft::params_t {
  static const unsigned output_ordering = hls::ip_fft::natural_order;
  static const unsigned log2_transform_length = 7;
  static const unsigned rounding_modes = hls::ip_fft::convergent_rounding;
};
struct Reversed : hls::ip_fft::params_t {
  static const unsigned max_nfft = 7;
};

// Errors in units of the last bit: their mean and the greatest one.
template <typename Config>
std::pair<double, double> errors_of(bool forward, unsigned schedule, unsigned shift) {
  const std::vector<Complex> in = noise(128, 0.9, 3);
  std::vector<Complex> copy = in, out(128);
  bool overflow = true;
  hls::fft<Config>(copy.data(), out.data(), ap_uint<1>(forward), ap_uint<15>(schedule), -1,
                   &overflow);
  EXPECT_FALSE(overflow);
  const std::vector<Exact> wanted = exact_transform(exact(in), forward);
  double sum = 0, greatest = 0;
  for (std::size_t k = 0; k < 128; ++k) {
    const Exact error =
        (exact(out[k]) - wanted[k] / std::ldexp(1.0, static_cast<int>(shift))) * 32768.0;
    sum += error.real() + error.imag();
    greatest = std::max({greatest, std::abs(error.real()), std::abs(error.imag())});
  }
  return {sum / 256, greatest};
}

TEST(HlsFft, TransformsBothWaysWithinTheLastBits) {
  for (const bool forward : {true, false}) {
    const auto [mean, greatest] = errors_of<Natural>(forward, 0b01101010, 7);
    EXPECT_LT(greatest, 4.0);
    EXPECT_NEAR(mean, -0.5, 0.15);  // truncation
    const auto [rounded_mean, rounded_greatest] = errors_of<NewNames>(forward, 0b01101010, 7);
    EXPECT_LT(rounded_greatest, 3.0);
    EXPECT_NEAR(rounded_mean, 0.0, 0.15);
  }
}

TEST(HlsFft, TakesTheScheduleFromItsLowestBits) {
  // The first stage has no room for a constant of nearly one; the last one has.
  std::vector<Complex> in(128, Complex(0.9, 0)), out(128);
  bool overflow = false;
  hls::fft<Natural>(in.data(), out.data(), true, 0b01101010, -1, &overflow);
  EXPECT_FALSE(overflow);
  EXPECT_NEAR(double(out[0].real()), 0.9, 0.001);
  hls::fft<Natural>(in.data(), out.data(), true, 0b01101000, -1, &overflow);
  EXPECT_TRUE(overflow);
}

struct Long : hls::ip_fft::params_t {
  static const unsigned ordering_opt = hls::ip_fft::natural_order;
  static const unsigned max_nfft = 10;
};

TEST(HlsFft, RoundsProductsBehindTheLastBitAndShiftsOnce) {
  // A sum over the bits of all values, recorded when whole frames of 1,024 points were equal to
  // those of the core's own model.
  std::vector<Complex> in(1024), out(1024);
  for (int i = 0; i < 1024; ++i) {
    Sample re, im;
    hls::core_detail::set_raw(re, (i * 7919 + 13) % 40000 - 20000);
    hls::core_detail::set_raw(im, (i * 104729 + 7) % 40000 - 20000);
    in[std::size_t(i)] = Complex(re, im);
  }
  bool overflow = true;
  hls::fft<Long>(in.data(), out.data(), true, 0x2ab, -1, &overflow);
  long long checksum = 0;
  for (std::size_t i = 0; i < 1024; ++i) {
    checksum = checksum * 31 + hls::core_detail::raw_of(out[i].real());
    checksum = checksum * 37 + hls::core_detail::raw_of(out[i].imag());
    checksum %= 1000000007;
  }
  EXPECT_EQ(checksum, 473201447);
}

TEST(HlsFft, GivesBitReversedOrderUnlessToldOtherwise) {
  std::vector<Complex> in = noise(128, 0.5, 5), natural(128), reversed(128);
  bool overflow = false;
  hls::fft<Natural>(in.data(), natural.data(), true, 0b01101010, -1, &overflow);
  hls::fft<Reversed>(in.data(), reversed.data(), true, 0b01101010, -1, &overflow);
  for (unsigned i = 0; i < 128; ++i) {
    EXPECT_EQ(reversed[i], natural[hls::fft_detail::reversed_bits(i, 7)]) << i;
  }
}

struct Unscaled : Natural {
  static const unsigned scaling_opt = hls::ip_fft::unscaled;
};

TEST(HlsFft, GrowsWithoutScaling) {
  typedef ap_fixed<24, 9> Wide;
  std::vector<Complex> in(128, Complex(-1, 0.5));
  std::vector<std::complex<Wide>> out(128);
  bool overflow = true;
  hls::fft<Unscaled>(in.data(), out.data(), true, 0b11111111, -1, &overflow);
  EXPECT_FALSE(overflow);
  EXPECT_EQ(out[0], std::complex<Wide>(-128, 64));
  for (std::size_t k = 1; k < 128; ++k) EXPECT_EQ(out[k], std::complex<Wide>(0, 0)) << k;
}

struct Block : Natural {
  static const unsigned scaling_opt = hls::ip_fft::block_floating_point;
};

TEST(HlsFft, FindsTheExponentOfABlock) {
  hls::ip_fft::config_t<Block> config;
  for (const double amplitude : {0.9, 0.01}) {
    std::vector<Complex> in = noise(128, amplitude, 7), out(128);
    hls::ip_fft::status_t<Block> status;
    hls::fft<Block>(in.data(), out.data(), &status, &config);
    EXPECT_FALSE(status.getOvflo());
    const std::vector<Exact> wanted = exact_transform(exact(in), true);
    double greatest = 0;
    for (std::size_t k = 0; k < 128; ++k) {
      const Exact value = exact(out[k]) * std::ldexp(1.0, static_cast<int>(status.getBlkExp()));
      EXPECT_LT(std::abs(value - wanted[k]),
                std::ldexp(32.0, static_cast<int>(status.getBlkExp()) - 15))
          << k;
      greatest =
          std::max({greatest, std::abs(double(out[k].real())), std::abs(double(out[k].imag()))});
    }
    EXPECT_GT(greatest, 0.2);  // no more shifts than needed
    if (amplitude < 0.1) {
      EXPECT_EQ(status.getBlkExp(), 0U);
    }
  }
}

struct Changing : Natural {
  static const bool has_nfft = true;
};

TEST(HlsFft, ChangesItsLengthAndRepeatsItsEnd) {
  hls::ip_fft::config_t<Changing> config;
  config.setNfft(4);
  config.setSch(0b0101);
  config.setCp_len(3);
  hls::stream<Complex> in, out;
  hls::stream<hls::ip_fft::config_t<Changing>> configs;
  hls::stream<hls::ip_fft::status_t<Changing>> statuses;
  const std::vector<Complex> samples = noise(16, 0.2, 9);
  for (const Complex& each : samples) in.write(each);
  configs.write(config);
  hls::fft<Changing>(in, out, statuses, configs);
  EXPECT_FALSE(statuses.read().getOvflo());
  ASSERT_EQ(out.size(), 19U);
  std::vector<Complex> values;
  while (!out.empty()) values.push_back(out.read());
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(values[i], values[16 + i]);
  const std::vector<Exact> wanted = exact_transform(exact(samples), true);
  for (std::size_t k = 0; k < 16; ++k) {
    EXPECT_LT(std::abs(exact(values[3 + k]) - wanted[k] / 4.0), 3.0 / 32768) << k;
  }
  config.setNfft(8);
  configs.write(config);
  EXPECT_THROW(hls::fft<Changing>(in, out, statuses, configs), std::invalid_argument);
}

struct Two : Natural {
  static const unsigned channels = 2;
};

TEST(HlsFft, KeepsItsChannelsApart) {
  std::complex<Sample> in[2][128], out[2][128];
  const std::vector<Complex> first = noise(128, 0.9, 1), second = noise(128, 0.1, 2);
  std::copy(first.begin(), first.end(), in[0]);
  std::copy(second.begin(), second.end(), in[1]);
  hls::ip_fft::config_t<Two> config;
  hls::ip_fft::status_t<Two> status;
  config.setSch(0b01101010, 0);
  config.setDir(false, 1);
  hls::fft<Two>(in, out, &status, &config);
  EXPECT_FALSE(status.getOvflo(0));
  EXPECT_TRUE(status.getOvflo(1));  // its schedule is zero
  config.setSch(0b01101010, 1);
  hls::fft<Two>(in, out, &status, &config);
  const std::vector<Exact> wanted = exact_transform(exact(second), false);
  for (std::size_t k = 0; k < 128; ++k) {
    EXPECT_LT(std::abs(exact(out[1][k]) - wanted[k] / 128.0), 5.0 / 32768) << k;
  }
  EXPECT_THROW(config.setSch(0, 2), std::out_of_range);
}

struct TwoAtOnce : hls::ip_fft::ssr_params_t {
  static const unsigned super_sample_rate = 2;
  static const unsigned max_nfft = 6;
  static const bool use_native_float = true;
  static const bool systolicfft_inv = true;
};

TEST(HlsFft, TransformsFloatsInSeveralSamplesPerCycle) {
  hls::stream<hls::vector<std::complex<float>, 2>> in, out;
  std::vector<Exact> samples;
  for (int i = 0; i < 64; ++i) samples.emplace_back(std::sin(i), std::cos(3 * i));
  for (std::size_t i = 0; i < 64; i += 2) {
    hls::vector<std::complex<float>, 2> pair;
    pair[0] = std::complex<float>(samples[i]);
    pair[1] = std::complex<float>(samples[i + 1]);
    in.write(pair);
  }
  hls::fft<TwoAtOnce>(in, out);
  const std::vector<Exact> wanted = exact_transform(samples, false);
  for (std::size_t i = 0; i < 64; i += 2) {
    const hls::vector<std::complex<float>, 2> pair = out.read();
    EXPECT_LT(std::abs(Exact(pair[0]) - wanted[i]), 1e-4);
    EXPECT_LT(std::abs(Exact(pair[1]) - wanted[i + 1]), 1e-4);
  }
}

}  // namespace
