// SPDX-License-Identifier: Apache-2.0
//
// Rows of a step: first the share of each caller, then of its sequences.
#include <algorithm>
#include <numeric>
#include <utility>

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
    std::ranges::stable_sort(prompts, {}, &Member::priority);
    // A prompt that ends in this step does not delay others for long, and dividing it costs time.
    Member& oldest = *prompts.front();
    const bool ends = oldest.wanted() - oldest.num_rows <= left_;
    const bool is_best = prompts.size() == 1 || prompts[1]->priority > oldest.priority;
    give(oldest, ends || is_best ? left_ : std::max(0, most_ - oldest.num_rows), left_);
    std::vector<Member*> shortest(prompts.begin() + 1, prompts.end());
    std::ranges::stable_sort(shortest, {}, [](const Member* member) {
      return std::pair(member->priority, member->wanted());
    });
    for (Member* member : shortest) give(*member, left_, left_);
    give(oldest, left_, left_);
  }

  std::vector<Member*> members_;
  int left_;
  const int most_;
};

std::vector<CallerWish> wishes_of(const std::vector<std::vector<Member*>>& by_caller,
                                  std::span<const CallerView> callers) {
  std::vector<CallerWish> wishes(by_caller.size());
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    if (i < callers.size()) wishes[i].served_rows = callers[i].served_rows;
    for (const Member* member : by_caller[i]) {
      wishes[i].num_rows += member->wanted();
      wishes[i].has_prompt |= !member->decodes();
    }
  }
  return wishes;
}

// The upper limit of each caller's rows. It is never 0, so the oldest sequence of a caller
// advances.
std::vector<int> bounded_wishes(const std::vector<CallerWish>& wishes,
                                const SchedulerOptions& options, bool& holds_back) {
  std::vector<int> wanted;
  for (const CallerWish& wish : wishes) {
    const bool waits = std::ranges::any_of(
        wishes, [&](const CallerWish& first) { return goes_before(first, wish, options); });
    wanted.push_back(waits ? options.rows_beside : wish.num_rows);
    holds_back |= waits;
  }
  return wanted;
}

// Max-min: the callers that want least come first; each gets at most an equal part of the rest.
// Among those that want more, the one that was served least comes last and gets the remaining rows.
std::vector<int> shares_of(const std::vector<int>& wanted, const std::vector<CallerWish>& wishes,
                           int rows) {
  std::vector<std::size_t> order(wanted.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    const int most = rows;  // differences above a step do not count
    const int wanted_a = std::min(wanted[a], most), wanted_b = std::min(wanted[b], most);
    return wanted_a != wanted_b ? wanted_a < wanted_b
                                : wishes[a].served_rows > wishes[b].served_rows;
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

bool goes_before(const CallerWish& first, const CallerWish& other,
                 const SchedulerOptions& options) {
  if (options.rows_beside <= 0 || other.num_rows <= options.rows_beside) return false;
  if (!first.has_prompt || first.served_rows >= other.served_rows + options.max_step_tokens) {
    return false;
  }
  return !other.has_prompt || first.num_rows < other.num_rows;
}

bool deal_rows(std::span<Member> members, std::span<const CallerView> callers,
               const SchedulerOptions& options) {
  if (members.empty()) return false;
  const std::size_t num_callers = std::max<std::size_t>(1, callers.size());
  std::vector<std::vector<Member*>> by_caller(num_callers);
  for (Member& member : members) {
    by_caller[static_cast<std::size_t>(member.caller)].push_back(&member);
  }
  const std::vector<CallerWish> wishes = wishes_of(by_caller, callers);
  bool holds_back = false;
  const std::vector<int> wanted = bounded_wishes(wishes, options, holds_back);
  const int half = std::max(1, options.max_step_tokens / 2);
  const int most = options.max_prefill_rows > 0 ? options.max_prefill_rows : half;
  const int rows = options.step_rows > 0 ? options.step_rows : options.max_step_tokens;
  const std::vector<int> shares = shares_of(wanted, wishes, rows);
  for (std::size_t i = 0; i < num_callers; ++i) {
    if (by_caller[i].empty()) continue;
    CallerRows(std::move(by_caller[i]), shares[i], most).deal();
  }
  return holds_back;
}

}  // namespace tandem::engine
