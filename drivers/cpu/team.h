// SPDX-License-Identifier: Apache-2.0
//
// Team: the thread pool of one CPU device. It hands out items together with the number of the
// worker that runs them.
//
// Memory with a place (packed weights, pools) is divided into one region per NUMA node:
//   const auto panels = team.regions(tiling::box_of<1>({num_panels}), {1});  // once
//   // the first touch, then every step:
//   team.place(panels, [&](const auto& tile, std::size_t) { pack tile.lower[0]; });
//   team.run_regions(panels, [&](const auto& tile, std::size_t worker) { ... });
// Threads and errors: as ThreadPool.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "common/thread_pool.h"
#include "tensor/tiling/regions.h"

namespace tandem::device::cpu {

class Team {
 public:
  using Body = FunctionRef<void(std::size_t item, std::size_t worker)>;
  template <std::size_t kDims>
  using TileBody = FunctionRef<void(const tiling::Box<kDims>& tile, std::size_t worker)>;

  // num_threads counts the caller; 0 means one per physical core that this process may use.
  explicit Team(int num_threads) : pool_(num_threads) {}
  explicit Team(const ThreadPoolOptions& options) : pool_(options) {}
  explicit Team(const ThreadPlan& plan) : pool_(plan) {}

  int size() const { return pool_.num_threads(); }
  int num_nodes() const { return pool_.num_nodes(); }
  int node_of(int worker) const { return pool_.node_of(worker); }
  const ThreadPlan& plan() const { return pool_.plan(); }

  // Calls body(item, worker) once per item. worker is in [0, size()), and no two running bodies
  // have the same, so scratch memory can be kept per worker. The next free worker takes the next
  // item. One item runs on the caller and wakes no thread.
  void run(std::size_t count, Body body) { pool_.run(count, body); }

  // One region of whole tiles per node, in proportion to its workers. Regions made for a team of
  // another size also work, but more slowly.
  template <std::size_t kDims>
  tiling::Regions<kDims> regions(const tiling::Box<kDims>& domain, const tiling::Point<kDims>& tile,
                                 std::size_t cut_dimension = 0) const {
    return {domain, tile, workers_of_nodes(), cut_dimension};
  }

  // Node n has the items bounds[n] .. bounds[n + 1]; bounds: [num_nodes + 1] from 0. One run may
  // contain the items of several divisions, if the caller lists them node by node.
  void run_regions(std::span<const std::size_t> bounds, Body body) {
    pool_.run_regions(bounds, body);
  }

  // Gives a worker the tiles of its own node first, in order, then tiles of other nodes that have
  // not begun. On one node this is run().
  template <std::size_t kDims, typename F>
  void run_regions(const tiling::Regions<kDims>& regions, F&& body) {
    const TileBody<kDims> on_tile = body;
    pool_.run_regions(regions.bounds(), [&](std::size_t tile, std::size_t worker) {
      on_tile(regions.tile(tile), worker);
    });
  }

  // Only workers of a region's node run its tiles.
  template <std::size_t kDims, typename F>
  void place(const tiling::Regions<kDims>& regions, F&& body) {
    const TileBody<kDims> on_tile = body;
    pool_.place(regions.bounds(),
                [&](std::size_t tile, std::size_t worker) { on_tile(regions.tile(tile), worker); });
  }

 private:
  std::vector<int> workers_of_nodes() const;  // [num_nodes]: the number of workers of each node

  ThreadPool pool_;
};

}  // namespace tandem::device::cpu
