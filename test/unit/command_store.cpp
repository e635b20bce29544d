// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "cli/store.hpp"

#include "client/client_core.hpp"
#include "support/unit_test.hpp"

#include <boost/asio/io_context.hpp>

namespace leasehold::test {

BOOST_AUTO_TEST_SUITE(command_store)

// `watch` would connect anew for each table.
BOOST_AUTO_TEST_CASE(the_connection_is_kept_while_nothing_is_asked) {
  boost::asio::io_context context;
  cli::store_options where;
  where.urls = {"unix:///nowhere"};
  {
    const client store = cli::connect(context, where);
    BOOST_TEST((detail::access::handle(store)->core->options().idle_timeout == forever));
  }
  context.run();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
