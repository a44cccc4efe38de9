// SPDX-License-Identifier: Apache-2.0
//
// Exercises: the built-in functions of OpenCL C: mathematical, integer, common, geometric,
// relational, conversions with rounding and saturation, vector loads, half, shuffles.
#include <cmath>

#include "opencl_card.h"

using namespace tandem::fpga_test;

namespace {

struct Expected {
  const char* expression;  // of kernel.cl, in its order
  double value;
};
const Expected kExpected[] = {
    {"sin(0.5f)", std::sin(0.5f)},
    {"native_cos(0.25f)", std::cos(0.25f)},
    {"pow(2.0f, 10.0f)", 1024},
    {"rsqrt(16.0f)", 0.25},
    {"half_sqrt(2.25f)", 1.5},
    {"exp10(2.0f)", 100},
    {"cospi(1.0f)", -1},
    {"fmax(1.0f, NAN)", 1},
    {"fma(2.0f, 3.0f, 4.0f)", 10},
    {"mad(2.0, 3.0, 4.0)", 10},
    {"ldexp(1.5f, 4)", 24},
    {"ilogb(1024.0f)", 10},
    {"pown(-2.0f, 3)", -8},
    {"rootn(27.0f, 3)", 3},
    {"nextafter(1.0f, 2.0f)", std::nextafter(1.0f, 2.0f)},
    {"remainder(7.0f, 4.0f)", -1},
    {"maxmag(-3.0f, 2.0f)", -3},
    {"lgamma(5.0f)", std::lgamma(5.0f)},
    {"hypot(3.0, 4.0)", 5},
    {"erf(0.5)", std::erf(0.5)},
    {"fract(-1.25f, &one)", 0.75},
    {"one", -2},
    {"modf(-1.25f, &one)", -0.25},
    {"one", -1},
    {"frexp(10.0f, &whole)", 0.625},
    {"whole", 4},
    {"sincos(0.5f, &one)", std::sin(0.5f)},
    {"one", std::cos(0.5f)},
    {"remquo(29.0f, 3.0f, &whole)", -1},
    {"whole", 10},
    {"abs((char)-128)", 128},
    {"abs_diff(-2000000000, 2000000000)", 4000000000.0},
    {"add_sat((uchar)200, (uchar)100)", 255},
    {"add_sat((short)-30000, (short)-30000)", -32768},
    {"sub_sat(5u, 7u)", 0},
    {"hadd((uchar)255, (uchar)254)", 254},
    {"rhadd((uchar)255, (uchar)254)", 255},
    {"clz((short)1)", 15},
    {"clz(0u)", 32},
    {"ctz(8)", 3},
    {"popcount((uchar)0xf7)", 7},
    {"rotate((uchar)0x81, (uchar)1)", 3},
    {"mul_hi(0x40000000, 16)", 4},
    {"mul_hi(~0ul, ~0ul) == ~0ul - 1", 1},
    {"mad_sat(2000000000, 2, -5)", 2147483647},
    {"mad_hi(1u << 31, 4u, 7u)", 9},
    {"upsample((short)-2, (ushort)3)", -131069},
    {"mul24(-1000, 1000)", -1000000},
    {"mad24(10u, 20u, 5u)", 205},
    {"clamp(15, 0, 10)", 10},
    {"min((ulong)3, (ulong)2)", 2},
    {"mix(2.0f, 4.0f, 0.25f)", 2.5},
    {"step(1.0f, 0.5f)", 0},
    {"smoothstep(0.0f, 2.0f, 1.0f)", 0.5},
    {"sign(-0.5f)", -1},
    {"degrees(M_PI)", 180},
    {"radians(180.0f)", static_cast<float>(M_PI)},
    {"dot((float3)(1, 2, 3), (float3)(4, 5, 6))", 32},
    {"cross((float3)(1, 0, 0), (float3)(0, 1, 0)).z", 1},
    {"length((float2)(3, 4))", 5},
    {"fast_distance((float4)(1), (float4)(3))", 4},
    {"normalize((float2)(0, 5)).y", 1},
    {"isequal((float4)(1, 2, 3, NAN), (float4)(1, 0, 3, NAN)).z", -1},
    {"isequal(1.0f, 1.0f)", 1},
    {"isnan((float2)(NAN, 1)).x", -1},
    {"isinf(INFINITY)", 1},
    {"signbit(-0.0f)", 1},
    {"any((int4)(0, 0, -1, 0))", 1},
    {"all((int2)(-1, 1))", 0},
    {"isordered(1.0f, NAN)", 0},
    {"select((int4)(1), (int4)(2), (int4)(0, -1, 1, -5)).w", 2},
    {"select((int4)(1), (int4)(2), (int4)(0, -1, 1, -5)).z", 1},
    {"select(1.5f, 2.5f, 1)", 2.5},
    {"bitselect(0xf0, 0x0f, 0x3c)", 0xcc},
    {"convert_uchar_sat(300)", 255},
    {"convert_uchar_sat(-1.5f)", 0},
    {"convert_int_rte(2.5f)", 2},
    {"convert_int_rtp(2.1f)", 3},
    {"convert_int(-2.9f)", -2},
    {"convert_char4_sat_rtn((float4)(-2.1f, 200, 0, 1)).x", -3},
    {"convert_char4_sat_rtn((float4)(-2.1f, 200, 0, 1)).y", 127},
    {"convert_float4((uchar4)(1, 2, 3, 255)).w", 255},
    {"convert_ulong_sat(-5)", 0},
    {"convert_long_sat(1e30f) == LONG_MAX", 1},
    {"convert_uint2((int2)(-1, 1)).x", 4294967295.0},
    {"convert_double(3u)", 3},
    {"as_int(1.0f)", 0x3f800000},
    {"as_float4((int4)(0x40000000)).y", 2},
    {"vload4(1, numbers).z", 6},
    {"vload3(2, numbers).x", 6},
    {"vload2(0, constants).y", 2},
    {"shuffle((int4)(10, 20, 30, 40), (uint4)(3, 2, 1, 0)).x", 40},
    {"shuffle2((int2)(1, 2), (int2)(3, 4), (uint4)(3, 0, 2, 1)).x", 4},
    {"((int8)(0, 1, 2, 3, 4, 5, 6, 7)).odd.s2", 5},
    {"vload_half(0, halves)", 1.5},
    {"vload_half(1, halves)", -65504},
    {"vload_half2(1, halves).y", static_cast<float>(0x1p-24)},
    {"tgamma(5.0f)", 24},
    {"logb(10.0f)", 3},
    {"trunc(-1.5f)", -1},
    {"rint(2.5f)", 2},
    {"round(2.5f)", 3},
    {"cbrt(27.0f)", 3},
    {"atan2(1.0f, 1.0f)", std::atan2(1.0f, 1.0f)},
    {"max((float2)(1, 5), 3.0f).x", 3},
    {"fmin((float4)(7), 2.0f).w", 2},
    {"sqrt((double2)(4, 9)).y", 3},
};
constexpr size_t kCount = std::size(kExpected);

void pass(const Arguments& arguments) {
  const LoadedCard card(arguments.xclbin);
  const Queue queue = card.queue();
  const Kernel kernel = card.kernel("evaluate");
  std::vector<double> values(kCount, -12345);
  const Memory out = card.buffer(CL_MEM_READ_WRITE, kCount * sizeof(double));
  const Memory halves = card.buffer(CL_MEM_READ_WRITE, 64);
  OCL(clEnqueueWriteBuffer(queue.get(), out.get(), CL_TRUE, 0, kCount * sizeof(double),
                           values.data(), 0, nullptr, nullptr));
  set_arguments(kernel.get(), out, halves);
  OCL(clEnqueueTask(queue.get(), kernel.get(), 0, nullptr, nullptr));
  OCL(clEnqueueReadBuffer(queue.get(), out.get(), CL_TRUE, 0, kCount * sizeof(double),
                          values.data(), 0, nullptr, nullptr));
  for (size_t i = 0; i < kCount; ++i) {
    const double error = std::abs(values[i] - kExpected[i].value);
    if (error <= 1e-6 * std::abs(kExpected[i].value)) continue;
    report_failure(__FILE__, __LINE__,
                   std::string(kExpected[i].expression) + " is " + std::to_string(values[i]) +
                       ", not " + std::to_string(kExpected[i].value));
  }
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, pass); }
