// SPDX-License-Identifier: Apache-2.0
//
// Rows of a step: first the share of each caller, then its sequences.
#include <algorithm>
#include <numeric>

#include "engine/scheduler/shares.h"

namespace tandem::engine {
namespace {

void give(Member& member, int most, int& left) {
  const int rows = std::min({member.wanted() - member.num_rows, most, left});
  member.num_rows += rows;
  left -= rows;
}

// The sequences of one caller, oldest first.
class CallerRows {
 public:
  CallerRows(std::vector<Member*> members, int share, int max_prefill_rows)
      : members_(std::move(members)), left_(share), most_(max_prefill_rows) {}

  void deal() {
    give(*members_.front(), 1, left_);
    deal_decode_rows();
    deal_prefill_rows();
  }

 private:
  void deal_decode_rows() {
    const auto decoding = std::ranges::count_if(members_, &Member::decodes);
    if (decoding <= left_) {
      for (Member* member : members_) {
        if (member->decodes()) give(*member, 1, left_);
      }
      return;
    }
    std::vector<Member*> waiting;
    std::ranges::copy_if(members_, std::back_inserter(waiting), &Member::decodes);
    std::ranges::stable_sort(waiting, {}, &Member::last_step);
    for (Member* member : waiting) give(*member, 1, left_);
  }

  void deal_prefill_rows() {
    std::vector<Member*> prompts;
    std::ranges::copy_if(members_, std::back_inserter(prompts),
                         [](const Member* member) { return !member->decodes(); });
    if (prompts.empty()) return;
    give(*prompts.front(), most_ - prompts.front()->num_rows, left_);
    std::vector<Member*> shortest(prompts.begin() + 1, prompts.end());
    std::ranges::stable_sort(shortest, {}, &Member::wanted);
    for (Member* member : shortest) give(*member, most_, left_);
    for (Member* member : prompts) give(*member, left_, left_);
  }

  std::vector<Member*> members_;
  int left_;
  const int most_;
};

// Max-min: the callers that want least first, each at most an equal part of what is left. Among
// those that want more than that, the one that was served least comes last and gets the odd rows.
std::vector<int> shares_of(const std::vector<int>& wanted, std::span<const CallerView> callers,
                           int rows) {
  std::vector<std::size_t> order(wanted.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto served = [&](std::size_t i) {
    return i < callers.size() ? callers[i].served_rows : 0;
  };
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    const int most = rows;  // more than a step is no difference
    const int wanted_a = std::min(wanted[a], most), wanted_b = std::min(wanted[b], most);
    return wanted_a != wanted_b ? wanted_a < wanted_b : served(a) > served(b);
  });
  std::vector<int> shares(wanted.size());
  int left = rows;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const int part = left / static_cast<int>(order.size() - i);
    shares[order[i]] = std::min(wanted[order[i]], part);
    left -= shares[order[i]];
  }
  return shares;
}

}  // namespace

void deal_rows(std::span<Member> members, std::span<const CallerView> callers,
               const SchedulerOptions& options) {
  if (members.empty()) return;
  const std::size_t num_callers = std::max<std::size_t>(1, callers.size());
  std::vector<std::vector<Member*>> by_caller(num_callers);
  std::vector<int> wanted(num_callers);
  for (Member& member : members) {
    by_caller[static_cast<std::size_t>(member.caller)].push_back(&member);
    wanted[static_cast<std::size_t>(member.caller)] += member.wanted();
  }
  const int half = std::max(1, options.max_step_tokens / 2);
  const int most = options.max_prefill_rows > 0 ? options.max_prefill_rows : half;
  const std::vector<int> shares = shares_of(wanted, callers, options.max_step_tokens);
  for (std::size_t i = 0; i < num_callers; ++i) {
    if (by_caller[i].empty()) continue;
    CallerRows(std::move(by_caller[i]), shares[i], most).deal();
  }
}

}  // namespace tandem::engine
