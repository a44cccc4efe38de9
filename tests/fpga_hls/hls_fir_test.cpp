// SPDX-License-Identifier: Apache-2.0
//
// The models of the FIR and DDS cores against sums and sines by hand, and the roundings of all
// cores.
#include <gtest/gtest.h>
#include <hls_dds.h>
#include <hls_fir.h>

namespace {

using hls::core_detail::Rounding;
using hls::core_detail::shifted;

TEST(HlsCores, RoundHalvesInEveryMode) {
  const Rounding modes[] = {Rounding::down,         Rounding::half_down, Rounding::half_up,
                            Rounding::half_to_zero, Rounding::half_away, Rounding::half_to_even,
                            Rounding::half_to_odd};
  const int wanted[7][6] = {{1, 2, -1, -2, 1, -2}, {1, 2, -1, -2, 1, -1}, {2, 3, 0, -1, 1, -1},
                            {1, 2, 0, -1, 1, -1},  {2, 3, -1, -2, 1, -1}, {2, 2, 0, -2, 1, -1},
                            {1, 3, -1, -1, 1, -1}};
  const int values[] = {6, 10, -2, -6, 5, -5};  // 1.5, 2.5, -0.5, -1.5, 1.25, -1.25
  for (int mode = 0; mode < 7; ++mode) {
    for (int at = 0; at < 6; ++at) {
      EXPECT_EQ(static_cast<long long>(shifted(values[at], 2, modes[mode])), wanted[mode][at])
          << mode << ": " << values[at];
    }
  }
  EXPECT_EQ(static_cast<long long>(shifted(-3, -2, Rounding::down)), -12);
}

struct Sets : hls::ip_fir::params_t {
  static const unsigned num_coeffs = 4;
  static const unsigned coeff_sets = 2;
  static const unsigned input_length = 6;
  static const unsigned output_length = 6;
  static constexpr double coeff_vec[8] = {1, -2, 3, 4, 10, 0, 0, -1};
};

TEST(HlsFir, FiltersWithEachSetAndKeepsWhatItHasSeen) {
  hls::FIR<Sets> filter;
  int in[6] = {1, 2, 3, 4, 5, 6};
  long long out[6];
  filter.run(in, out);
  const long long first[] = {1, 0, 2, 8, 14, 20};
  for (int i = 0; i < 6; ++i) EXPECT_EQ(out[i], first[i]) << i;
  ap_uint<8> set = 1;
  filter.run(in, out, &set);
  const long long second[] = {10 - 4, 20 - 5, 30 - 6, 40 - 1, 50 - 2, 60 - 3};
  for (int i = 0; i < 6; ++i) EXPECT_EQ(out[i], second[i]) << i;
  set = 2;
  EXPECT_THROW(filter.run(in, out, &set), std::out_of_range);
}

struct Half : Sets {
  static const unsigned filter_type = hls::ip_fir::decimation;
  static const unsigned decim_rate = 2;
  static const unsigned output_length = 3;
};

TEST(HlsFir, GivesTheLastOfEveryDecimatedGroup) {
  hls::FIR<Half> filter;
  hls::stream<int> in;
  hls::stream<long long> out;
  for (int i = 1; i <= 6; ++i) in.write(i);
  filter.run(in, out);
  EXPECT_EQ(out.read(), 0);
  EXPECT_EQ(out.read(), 8);
  EXPECT_EQ(out.read(), 20);
  EXPECT_TRUE(out.empty());
}

struct Double : Sets {
  static const unsigned filter_type = hls::ip_fir::interpolation;
  static const unsigned interp_rate = 2;
  static const unsigned output_length = 12;
};

struct Wrong : Double {
  static const unsigned output_length = 13;
};

TEST(HlsFir, InterpolatesByPhasesOfItsCoefficients) {
  hls::FIR<Double> filter;
  int in[6] = {1, 2, 3, 4, 5, 6};
  long long out[12];
  filter.run(in, out);
  for (int n = 0; n < 6; ++n) {
    const int before = n == 0 ? 0 : in[n - 1];
    EXPECT_EQ(out[2 * n], in[n] + 3 * before) << n;
    EXPECT_EQ(out[2 * n + 1], -2 * in[n] + 4 * before) << n;
  }
  hls::FIR<Wrong> wrong;
  long long more[13];
  EXPECT_THROW(wrong.run(in, more), std::invalid_argument);
}

struct Third : Sets {
  static const unsigned rate_change = hls::ip_fir::fixed_fractional;
  static const unsigned interp_rate = 2;
  static const unsigned decim_rate = 3;
  static const unsigned output_length = 4;
};

TEST(HlsFir, ChangesTheRateByAFraction) {
  hls::FIR<Third> filter;
  int in[6] = {1, 2, 3, 4, 5, 6};
  long long out[4];
  filter.run(in, out);
  const long long wanted[] = {2 + 3 * 1, -2 * 3 + 4 * 2, 5 + 3 * 4, -2 * 6 + 4 * 5};
  for (int i = 0; i < 4; ++i) EXPECT_EQ(out[i], wanted[i]) << i;
}

struct Spaced : Sets {
  static const unsigned filter_type = hls::ip_fir::interpolated;
  static const unsigned zero_pack_factor = 2;
  static const unsigned num_channels = 2;
  static const unsigned input_length = 12;
  static const unsigned output_length = 12;
};

TEST(HlsFir, SpacesItsTapsAndTakesTurnsOfChannels) {
  hls::FIR<Spaced> filter;
  int in[12], out[12];
  for (int n = 0; n < 6; ++n) {
    in[2 * n] = n == 0 ? 1 : 0;  // an impulse
    in[2 * n + 1] = n == 0 ? 100 : 0;
  }
  filter.run(in, out);
  const int wanted[] = {1, 0, -2, 0, 3, 0};
  for (int n = 0; n < 6; ++n) {
    EXPECT_EQ(out[2 * n], wanted[n]) << n;
    EXPECT_EQ(out[2 * n + 1], 100 * wanted[n]) << n;
  }
}

struct Fractions : hls::ip_fir::params_t {
  static const unsigned num_coeffs = 2;
  static const unsigned coeff_fractional_bits = 2;
  static const unsigned coeff_width = 4;
  static const unsigned input_length = 2;
  static const unsigned output_length = 2;
  static const unsigned output_rounding_mode = hls::ip_fir::symmetric_rounding_to_infinity;
  static constexpr double coeff_vec[2] = {0.25, 0.6};  // 0.6 becomes 0.5
};

TEST(HlsFir, RoundsToTheOutputsFractionAndWraps) {
  hls::FIR<Fractions> filter;
  ap_fixed<8, 6> in[2] = {2.5, -2.5};
  ap_fixed<6, 5> out[2];
  filter.run(in, out);
  EXPECT_EQ(double(out[0]), 0.5);  // 0.625
  EXPECT_EQ(double(out[1]), 0.5);  // -0.625 + 1.25 = 0.625
  ap_fixed<8, 6> tie[2] = {1, 31.75};
  hls::FIR<Fractions> other;
  other.run(tie, out);
  EXPECT_EQ(double(out[0]), 0.5);  // 0.25, half of the last bit
  EXPECT_EQ(double(out[1]), 8.5);  // 8.4375
  ap_fixed<3, 2> narrow[2];
  other.run(tie, narrow);  // 0.25 + 15.875 = 16.125 and 8.4375
  EXPECT_EQ(double(narrow[0]), 0.0);
  EXPECT_EQ(double(narrow[1]), 0.5);
}

struct Quarter : hls::ip_dds::params_t {
  static const unsigned Channels = 2;
  static const unsigned Phase_Offset = hls::ip_dds::XIP_DDS_PINCPOFF_FIXED;
  static const unsigned input_length = 8;
  static constexpr double PINC[16] = {16384, 8192};
  static constexpr double POFF[16] = {0, 65536 - 8192};
};

TEST(HlsDds, TurnsEachChannelAndGoesOnThere) {
  hls::DDS<Quarter> source;
  hls::ip_dds::out_data_sin_cos<Quarter> data[8];
  hls::DDS<Quarter>::out_phase_t phase[8];
  source.run(data, phase);
  const int sine[] = {0, 32767, 0, -32767};
  for (int n = 0; n < 4; ++n) {
    EXPECT_EQ(int(phase[2 * n]), n * 16384) << n;
    EXPECT_EQ(int(data[2 * n].get_sin()), sine[n]) << n;
    EXPECT_EQ(int(data[2 * n].get_cos()), sine[(n + 1) % 4]) << n;
    EXPECT_EQ(int(phase[2 * n + 1]), (65536 - 8192 + n * 8192) % 65536) << n;
  }
  EXPECT_EQ(int(data[1].get_sin()), -23170);
  EXPECT_EQ(int(data[1].get_cos()), 23170);
  source.run(data, phase);
  EXPECT_EQ(int(phase[0]), 0);
  EXPECT_EQ(int(phase[1]), 3 * 8192);
}

struct Raster : hls::ip_dds::params_t {
  static const unsigned Mode_of_Operation = hls::ip_dds::XIP_DDS_MOO_RASTERIZED;
  static const unsigned Modulus = 200;
  static const unsigned Output_Selection = hls::ip_dds::XIP_DDS_OUT_COS_ONLY;
  static const unsigned Amplitude_Mode = hls::ip_dds::XIP_DDS_UNIT_CIRCLE;
  static const bool Negative_Cosine = true;
  static const unsigned Output_Width = 8;
  static const unsigned input_length = 3;
  static constexpr double PINC[16] = {100};
  static constexpr double POFF[16] = {50};  // not used: no offset is selected
};

TEST(HlsDds, DividesATurnByItsModulus) {
  hls::DDS<Raster> source;
  hls::stream<hls::DDS<Raster>::out_data_t> data;
  hls::stream<hls::DDS<Raster>::out_phase_t> phase;
  source.run(data, phase);
  const int phases[] = {0, 100, 0}, values[] = {-64, 64, -64};
  for (int n = 0; n < 3; ++n) {
    EXPECT_EQ(int(phase.read()), phases[n]) << n;
    EXPECT_EQ(int(data.read()), values[n]) << n;
  }
}

}  // namespace
