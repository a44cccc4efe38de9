// SPDX-License-Identifier: Apache-2.0
//
// An attribute with a function that deletes it; communicators that are copied get their own.
#include "apps/trace_comm/pmpi/communicators.h"

#include <numeric>

namespace tandem::apps {
namespace {

int delete_ranks(MPI_Comm /*communicator*/, int /*key*/, void* value, void* /*extra*/) {
  delete static_cast<CommunicatorRanks*>(value);
  return MPI_SUCCESS;
}

int ranks_key() {
  static const int key = [] {
    int made = MPI_KEYVAL_INVALID;
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_ranks, &made, nullptr);
    return made;
  }();
  return key;
}

std::vector<int> world_ranks(MPI_Group group) {
  int size = 0;
  PMPI_Group_size(group, &size);
  std::vector<int> ranks(static_cast<std::size_t>(size)), result(ranks.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  MPI_Group world = MPI_GROUP_NULL;
  PMPI_Comm_group(MPI_COMM_WORLD, &world);
  PMPI_Group_translate_ranks(group, size, ranks.data(), world, result.data());
  PMPI_Group_free(&world);
  return result;
}

CommunicatorRanks* make_ranks(MPI_Comm communicator) {
  auto* made = new CommunicatorRanks;
  int is_inter = 0;
  PMPI_Comm_test_inter(communicator, &is_inter);
  MPI_Group group = MPI_GROUP_NULL;
  if (is_inter != 0) {
    PMPI_Comm_remote_group(communicator, &group);
  } else {
    PMPI_Comm_group(communicator, &group);
  }
  made->world = world_ranks(group);
  made->is_inter = is_inter != 0;
  PMPI_Group_free(&group);
  PMPI_Comm_rank(communicator, &made->me);
  PMPI_Comm_set_attr(communicator, ranks_key(), made);
  return made;
}

}  // namespace

const CommunicatorRanks& ranks_of(MPI_Comm communicator) {
  if (communicator == MPI_COMM_WORLD) {  // a look-up of an attribute costs more than all the rest
    static const CommunicatorRanks* world = make_ranks(MPI_COMM_WORLD);
    return *world;
  }
  void* value = nullptr;
  int found = 0;
  PMPI_Comm_get_attr(communicator, ranks_key(), &value, &found);
  return found != 0 ? *static_cast<CommunicatorRanks*>(value) : *make_ranks(communicator);
}

int world_rank_in(MPI_Win window, int rank) {
  MPI_Group group = MPI_GROUP_NULL, world = MPI_GROUP_NULL;
  PMPI_Win_get_group(window, &group);
  PMPI_Comm_group(MPI_COMM_WORLD, &world);
  int result = MPI_UNDEFINED;
  PMPI_Group_translate_ranks(group, 1, &rank, world, &result);
  PMPI_Group_free(&group);
  PMPI_Group_free(&world);
  return result;
}

int own_world_rank() {
  static const int rank = [] {
    int found = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &found);
    return found;
  }();
  return rank;
}

}  // namespace tandem::apps
