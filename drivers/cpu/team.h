// SPDX-License-Identifier: Apache-2.0
//
// Team: the thread pool of one CPU device. It hands out items together with the number of the
// worker that runs them.
//
// run(count, body) calls body(item, worker) once per item. worker is in [0, size()), and no two
// running bodies have the same, so scratch memory can be kept per worker. Items are given in order
// to whichever worker is free. One item runs on the caller and wakes no thread. Threads and errors:
// as ThreadPool.
//
// Memory with a place (packed weights, pools) is divided into one region per NUMA node:
//   const auto panels = team.regions(tiling::box_of<1>({num_panels}), {1});      // once
//   team.place(panels, [&](const auto& tile, std::size_t) { pack tile.lower[0]; });  // first touch
//   team.run_regions(panels, [&](const auto& tile, std::size_t worker) { ... });     // every step
// place() writes a region by workers of its node only. run_regions() gives a worker the tiles of
// its own node first, in order, then tiles of other nodes that are not begun. On one node
// run_regions() is run(). Items of several divisions in one run are listed node by node:
// run_regions(bounds, ...). Regions made for a team of another size work, too, but slower.
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

  void run(std::size_t count, Body body) { pool_.run(count, body); }

  // One region of whole tiles per node, in proportion to its workers.
  template <std::size_t kDims>
  tiling::Regions<kDims> regions(const tiling::Box<kDims>& domain, const tiling::Point<kDims>& tile,
                                 std::size_t cut_dimension = 0) const {
    return {domain, tile, workers_of_nodes(), cut_dimension};
  }

  // Node n has the items bounds[n] .. bounds[n + 1]; bounds: [num_nodes + 1] from 0.
  void run_regions(std::span<const std::size_t> bounds, Body body) {
    pool_.run_regions(bounds, body);
  }

  template <std::size_t kDims, typename F>
  void run_regions(const tiling::Regions<kDims>& regions, F&& body) {
    const TileBody<kDims> on_tile = body;
    pool_.run_regions(regions.bounds(), [&](std::size_t tile, std::size_t worker) {
      on_tile(regions.tile(tile), worker);
    });
  }

  template <std::size_t kDims, typename F>
  void place(const tiling::Regions<kDims>& regions, F&& body) {
    const TileBody<kDims> on_tile = body;
    pool_.place(regions.bounds(),
                [&](std::size_t tile, std::size_t worker) { on_tile(regions.tile(tile), worker); });
  }

 private:
  std::vector<int> workers_of_nodes() const;  // [num_nodes]

  ThreadPool pool_;
};

}  // namespace tandem::device::cpu
