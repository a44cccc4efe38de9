// SPDX-License-Identifier: Apache-2.0
//
// Exercises: clEnqueueMigrateMemObjects to the card, to the host, with undefined content, of many
// buffers at once and repeatedly; the card does not see what was not migrated.
#include "opencl_card.h"

using namespace tandem::fpga_test;

namespace {

constexpr unsigned int kSize = 4096;
constexpr size_t kBytes = kSize * 4;

struct Page {
  alignas(4096) int values[kSize];
};

void migrate(const Queue& queue, std::vector<cl_mem> buffers, cl_mem_migration_flags flags) {
  OCL(clEnqueueMigrateMemObjects(queue.get(), static_cast<cl_uint>(buffers.size()), buffers.data(),
                                 flags, 0, nullptr, nullptr));
}

void add(const Queue& queue, const Kernel& vadd, const Memory buffers[3]) {
  set_arguments(vadd.get(), buffers[0], buffers[1], buffers[2], kSize);
  OCL(clEnqueueTask(queue.get(), vadd.get(), 0, nullptr, nullptr));
}

void check_refusals(const Queue& queue, const Memory& buffer) {
  cl_mem nothing = nullptr;
  const cl_mem some = buffer.get();
  CHECK(clEnqueueMigrateMemObjects(queue.get(), 1, &nothing, 0, 0, nullptr, nullptr) != CL_SUCCESS);
  CHECK_EQ(clEnqueueMigrateMemObjects(queue.get(), 0, nullptr, 0, 0, nullptr, nullptr),
           CL_INVALID_VALUE);
  CHECK_EQ(clEnqueueMigrateMemObjects(queue.get(), 1, &some, 1 << 9, 0, nullptr, nullptr),
           CL_INVALID_VALUE);
}

void move(const Arguments& arguments) {
  const LoadedCard card(arguments.xclbin);
  const Queue queue = card.queue();
  const Kernel vadd = card.kernel("vadd");
  const auto pages = std::make_unique<Page[]>(3);
  const auto a = numbers(kSize, 1), b = numbers(kSize, 2);
  std::copy(a.begin(), a.end(), pages[0].values);
  std::copy(b.begin(), b.end(), pages[1].values);
  Memory buffers[3];
  for (int index = 0; index < 3; ++index) {
    buffers[index] =
        card.buffer(CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, kBytes, pages[index].values);
  }
  set_arguments(vadd.get(), buffers[0], buffers[1], buffers[2], kSize);
  migrate(queue, {buffers[0].get(), buffers[1].get()}, 0);
  migrate(queue, {buffers[2].get()}, CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED);
  add(queue, vadd, buffers);
  migrate(queue, {buffers[2].get()}, CL_MIGRATE_MEM_OBJECT_HOST);
  OCL(clFinish(queue.get()));
  check_sums(pages[2].values, a, b);

  pages[0].values[0] += 1000;  // not migrated, so the card adds what it has
  add(queue, vadd, buffers);
  migrate(queue, {buffers[2].get()}, CL_MIGRATE_MEM_OBJECT_HOST);
  OCL(clFinish(queue.get()));
  check_sums(pages[2].values, a, b);

  for (int round = 0; round < 20; ++round) {
    pages[1].values[round] = -round;
    migrate(queue, {buffers[0].get(), buffers[1].get()}, 0);
    add(queue, vadd, buffers);
    migrate(queue, {buffers[2].get()}, CL_MIGRATE_MEM_OBJECT_HOST);
    OCL(clFinish(queue.get()));
    CHECK_EQ(pages[2].values[round], a[round] + (round == 0 ? 1000 : 0) - round);
  }
  check_refusals(queue, buffers[0]);
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, move); }
