// SPDX-License-Identifier: Apache-2.0
//
// A missing value that only chooses decides nothing yet: its token goes on with what it chose.
#include "bitstreams/compiler/loop_checks/choices.h"

#include "bitstreams/compiler/loop_checks/place_text.h"
#include "bitstreams/compiler/loop_checks/pure_calls.h"
#include "bitstreams/compiler/loop_checks/stored_values.h"
#include "bitstreams/compiler/loop_checks/value_uses.h"

namespace tandem::loop_checks {
namespace {

constexpr size_t kMostBlocks = 32;
constexpr const char* kChecks[] = {"tandem_take", "tandem_stored", "tandem_unset_", "tandem_probe",
                                   "__asan_store"};

bool is_check(gimple* stmt) {
  const tree function = is_gimple_call(stmt) ? gimple_call_fndecl(stmt) : NULL_TREE;
  if (function != NULL_TREE && DECL_NAME(function) != NULL_TREE) {
    const char* const name = IDENTIFIER_POINTER(DECL_NAME(function));
    return std::any_of(std::begin(kChecks), std::end(kChecks),
                       [&](const char* each) { return starts_with(name, each); });
  }
  return gimple_call_internal_p(stmt, IFN_ASAN_CHECK) ||
         gimple_call_internal_p(stmt, IFN_ASAN_MARK) ||
         gimple_call_internal_p(stmt, IFN_UBSAN_BOUNDS) ||
         gimple_call_internal_p(stmt, IFN_UBSAN_NULL);
}

// Like __builtin_clz().
bool is_constant_builtin(gimple* stmt) {
  return gimple_call_builtin_p(stmt, BUILT_IN_NORMAL) && (gimple_call_flags(stmt) & ECF_CONST) != 0;
}

bool is_plain_store(gimple* stmt) {
  return gimple_assign_single_p(stmt) && gimple_store_p(stmt) && !gimple_has_volatile_ops(stmt) &&
         !stmt_ends_bb_p(stmt) && int_size_in_bytes(TREE_TYPE(gimple_assign_lhs(stmt))) > 0;
}

// The blocks from a branch to the one where its ways meet.
class Ways {
 public:
  explicit Ways(basic_block begin) : blocks_{begin} {
    if (!add_ways(begin)) ahead_.clear();
  }

  // Null: they do not meet, or more than values are computed before.
  basic_block meet() {
    while (ahead_.size() > 1 && blocks_.size() < kMostBlocks) {
      const auto next = std::find_if(ahead_.begin(), ahead_.end(),
                                     [&](basic_block block) { return can_pass(block); });
      if (next == ahead_.end()) return nullptr;
      const basic_block block = *next;
      ahead_.erase(next);
      blocks_.push_back(block);
      if (!add_ways(block)) return nullptr;
    }
    return ahead_.size() == 1 ? ahead_.front() : nullptr;
  }

  bool has(basic_block block) const {
    return std::find(blocks_.begin(), blocks_.end(), block) != blocks_.end();
  }
  const std::vector<basic_block>& blocks() const { return blocks_; }

 private:
  bool add_ways(basic_block block) {
    edge way;
    edge_iterator edges;
    FOR_EACH_EDGE(way, edges, block->succs) {
      if ((way->flags & EDGE_COMPLEX) != 0 || has(way->dest)) return false;
      if (way->dest == EXIT_BLOCK_PTR_FOR_FN(cfun)) return false;
      if (std::find(ahead_.begin(), ahead_.end(), way->dest) == ahead_.end()) {
        ahead_.push_back(way->dest);
      }
    }
    return EDGE_COUNT(block->succs) != 0;
  }

  // Whether only the branch leads to the block, and it only computes.
  bool can_pass(basic_block block) const {
    edge way;
    edge_iterator edges;
    FOR_EACH_EDGE(way, edges, block->preds) {
      if (!has(way->src)) return false;
    }
    for (auto at = gsi_start_bb(block); !gsi_end_p(at); gsi_next(&at)) {
      if (!only_computes(gsi_stmt(at)) && !is_plain_store(gsi_stmt(at))) return false;
    }
    return true;
  }

  std::vector<basic_block> blocks_, ahead_;
};

// Whether the values that come in by these ways differ.
bool differs(gphi* result, const std::vector<edge>& ways) {
  const tree first = PHI_ARG_DEF_FROM_EDGE(result, ways.front());
  return std::any_of(ways.begin(), ways.end(), [&](edge way) {
    return !operand_equal_p(PHI_ARG_DEF_FROM_EDGE(result, way), first, 0);
  });
}

// `behind`: blocks behind the branch.
void add_results(basic_block join, const std::vector<basic_block>& behind, Choice* choice) {
  std::vector<edge> ways;
  edge way;
  edge_iterator edges;
  FOR_EACH_EDGE(way, edges, join->preds) {
    if (std::find(behind.begin(), behind.end(), way->src) != behind.end()) ways.push_back(way);
  }
  if (ways.empty()) return;
  for (auto at = gsi_start_phis(join); !gsi_end_p(at); gsi_next(&at)) {
    gphi* const result = at.phi();
    if (virtual_operand_p(gimple_phi_result(result))) continue;  // checks write nothing
    if (differs(result, ways)) choice->results.push_back(result);
  }
  choice->ways.insert(choice->ways.end(), ways.begin(), ways.end());
}

// Of `blocks`, the branch's own and those that it leads to.
std::vector<basic_block> blocks_behind(basic_block own, const std::vector<basic_block>& blocks) {
  std::vector<basic_block> behind = {own};
  for (basic_block block : blocks) {
    const bool is_led_to = std::any_of(behind.begin(), behind.end(), [&](basic_block before) {
      return find_edge(before, block) != nullptr;
    });
    if (is_led_to && block != own) behind.push_back(block);
  }
  return behind;
}

bool is_known_at(tree name, basic_block block) {
  if (name == NULL_TREE || TREE_CODE(name) != SSA_NAME || SSA_NAME_IS_DEFAULT_DEF(name)) {
    return true;
  }
  const basic_block made = gimple_bb(SSA_NAME_DEF_STMT(name));
  return made != nullptr && dominated_by_p(CDI_DOMINATORS, block, made);
}

bool is_place_known_at(tree place, basic_block block) {
  for (; handled_component_p(place); place = TREE_OPERAND(place, 0)) {
    if (TREE_CODE(place) == ARRAY_REF && !is_known_at(TREE_OPERAND(place, 1), block)) return false;
  }
  if (TREE_CODE(place) == TARGET_MEM_REF) {
    return is_known_at(TMR_BASE(place), block) && is_known_at(TMR_INDEX(place), block) &&
           is_known_at(TMR_INDEX2(place), block);
  }
  return DECL_P(place) ||
         (TREE_CODE(place) == MEM_REF && is_known_at(TREE_OPERAND(place, 0), block));
}

// Before it is written in the same block. A loop has two versions, with the same variables.
bool is_read_outside(tree variable, const std::vector<basic_block>& blocks) {
  basic_block block;
  FOR_EACH_BB_FN(block, cfun) {
    if (std::find(blocks.begin(), blocks.end(), block) != blocks.end()) continue;
    for (auto at = gsi_start_bb(block); !gsi_end_p(at); gsi_next(&at)) {
      gimple* const stmt = gsi_stmt(at);
      if (gimple_assign_load_p(stmt) && get_base_address(gimple_assign_rhs1(stmt)) == variable) {
        return true;
      }
      if (gimple_store_p(stmt) && gimple_get_lhs(stmt) == variable) break;
    }
  }
  return false;
}

bool is_marked_in(basic_block block, tree variable) {
  for (auto at = gsi_start_bb(block); !gsi_end_p(at); gsi_next(&at)) {
    if (marks(gsi_stmt(at), variable)) return true;
  }
  return false;
}

// As of a temporary of `std::min(50, x)`: then nobody reads it where the ways meet.
bool begins_or_ends_in(const std::vector<basic_block>& behind, basic_block own, tree place) {
  const tree variable = get_base_address(place);
  return std::any_of(behind.begin(), behind.end(), [&](basic_block block) {
    return block != own && is_marked_in(block, variable);
  });
}

// False: something is stored that the card could not be told of.
bool add_stores(const std::vector<basic_block>& behind, basic_block own, Choice* choice) {
  for (basic_block block : behind) {
    if (block == own) continue;
    for (auto at = gsi_start_bb(block); !gsi_end_p(at); gsi_next(&at)) {
      gimple* const stmt = gsi_stmt(at);
      if (!is_plain_store(stmt) || gimple_clobber_p(stmt)) continue;
      const tree place = gimple_assign_lhs(stmt);
      if (begins_or_ends_in(behind, own, place)) continue;
      if (is_hidden(place)) {
        if (is_read_outside(get_base_address(place), choice->between)) return false;
        continue;
      }
      if (!has_marks(place) || !is_place_known_at(place, own)) return false;
      choice->stores.push_back(stmt);
    }
  }
  return true;
}

}  // namespace

bool only_computes(gimple* stmt) {
  if (is_gimple_debug(stmt) || gimple_code(stmt) == GIMPLE_LABEL) return true;
  if (is_check(stmt) || is_mathematical(stmt) || gimple_clobber_p(stmt)) return true;
  if (is_gimple_call(stmt) && only_computes_result(stmt)) return true;
  if (gimple_code(stmt) == GIMPLE_COND || gimple_code(stmt) == GIMPLE_SWITCH) return true;
  if (gimple_has_volatile_ops(stmt) || gimple_vdef(stmt) != NULL_TREE || stmt_ends_bb_p(stmt)) {
    return false;
  }
  return is_gimple_assign(stmt) || gimple_call_internal_p(stmt) || is_constant_builtin(stmt) ||
         gimple_code(stmt) == GIMPLE_NOP || gimple_code(stmt) == GIMPLE_PREDICT;
}

bool only_chooses(gimple* branch, Choice* choice) {
  constexpr int kMostSteps = 8;
  calculate_dominance_info(CDI_DOMINATORS);
  const basic_block own = gimple_bb(branch);
  basic_block begin = own;
  for (int step = 0; step < kMostSteps && begin != ENTRY_BLOCK_PTR_FOR_FN(cfun); ++step) {
    Ways ways(begin);
    const basic_block join = ways.meet();
    if (join != nullptr && ways.has(own)) {
      choice->begin = begin;
      choice->between.assign(ways.blocks().begin() + 1, ways.blocks().end());
      const std::vector<basic_block> behind = blocks_behind(own, choice->between);
      if (begin != own) {
        for (basic_block block : choice->between) add_results(block, behind, choice);
      }
      add_results(join, behind, choice);
      return add_stores(behind, own, choice);
    }
    begin = get_immediate_dominator(CDI_DOMINATORS, begin);
  }
  return false;
}

}  // namespace tandem::loop_checks
