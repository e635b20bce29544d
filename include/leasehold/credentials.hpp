// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <leasehold/client.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

namespace leasehold {

/// Makes client_options::credentials of a function that returns a coroutine. The coroutine runs on the client's
/// executor (credentials_request::executor). An exception that leaves it is a failure, and its text goes into the
/// event.
///
/// The function is kept as long as one of its coroutines runs. One that takes longer than
/// client_options::connect_timeout is not ended: its answer is dropped. A client that was closed does not wait for it,
/// but `io_context::run()` does.
/// @ingroup ref_clients
template <class F>
requires std::same_as<std::invoke_result_t<F&, credentials_request>, asio::awaitable<credentials>> credentials_function
credentials_from(F function) {
  const auto kept = std::make_shared<F>(std::move(function));
  return [kept](const credentials_request& request, credentials_handler done) {
    // The parameters keep the function and the request while the coroutine runs.
    auto ask = [](std::shared_ptr<F> f, credentials_request r) -> asio::awaitable<credentials> {
      credentials given = co_await (*f)(r);
      co_return given;
    };
    asio::co_spawn(request.executor, ask(kept, request), std::move(done));
  };
}

}  // namespace leasehold
