// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Many holds of one client that are renewed.
#include "keeper.hpp"

#include <fmt/format.h>

namespace leasehold::bench {

void holds(const settings& s, report& out) {
  const seconds lease = s.lease;
  out.section("holds", fmt::format("{} holds of one client with a lease of {} s, renewed for {} s", s.holds,
                                   number(lease.count()), number(s.renewing.count())));
  test::redis_server server;
  const kept k = keep(server, s.holds, s.lease, s.renewing);
  out.figure("holds lost", static_cast<double>(k.lost), "", at_most(0));
  out.figure("renewals", k.renewals, "/s");
  out.figure("client, share of a core", k.client_cpu, "", at_most(0.25));
  out.figure("redis-server, share of a core", k.server_cpu, "", at_most(0.25));
  out.expect(k.lost == 0, "no hold is lost");
  out.expect(k.renewals > 0, "leases are renewed");
  out.expect(k.left_behind == 0, "nothing is left in the store");

  plot picture(fmt::format("{} holds of one client, renewed: {} renewals per second", s.holds, number(k.renewals)));
  picture.bars("share of a core", {{"client", k.client_cpu}, {"redis-server", k.server_cpu}}, 0.25);
  out.draw(picture);
}

}  // namespace leasehold::bench
