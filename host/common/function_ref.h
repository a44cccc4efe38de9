// SPDX-License-Identifier: Apache-2.0
//
// FunctionRef: a reference to a callable, for parameters that are called before the callee returns.
//
// It takes two words and allocates nothing. std::function allocates for a lambda with more than two
// captured references, and that is most of a short loop's overhead. The callable must outlive the
// reference; a lambda in the argument list does.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace tandem {

template <typename Signature>
class FunctionRef;

template <typename Result, typename... Args>
class FunctionRef<Result(Args...)> {
 public:
  template <typename F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef> &&
           std::is_invocable_r_v<Result, F&, Args...>)
      FunctionRef(F&& callable)  // NOLINT: converts as std::function does
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(callable)))),
        call_([](void* object, Args... args) -> Result {
          return (*static_cast<std::remove_reference_t<F>*>(object))(std::forward<Args>(args)...);
        }) {}

  Result operator()(Args... args) const { return call_(object_, std::forward<Args>(args)...); }

 private:
  void* object_;
  Result (*call_)(void*, Args...);
};

}  // namespace tandem
