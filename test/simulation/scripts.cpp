// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The scripts of all kinds on the store in memory, under random schedules that are compared with a model.
// LEASEHOLD_SEED repeats a run, LEASEHOLD_STEPS makes it longer or shorter.
#include "schedule/memory_host.hpp"
#include "schedule/queue_schedule.hpp"
#include "support/rarer.hpp"
#include "support/unit_test.hpp"

#include <cstddef>
#include <cstdlib>

BOOST_AUTO_TEST_SUITE(scripts)

namespace {

using leasehold::test::lock_kind;
using leasehold::test::memory_host;

// Of each kind.
std::size_t steps() {
  const char* const text = std::getenv("LEASEHOLD_STEPS");
  // With fewer, not everything happens that the schedules ask for.
  return text ? std::strtoull(text, nullptr, 10) : leasehold::test::rarer == 1 ? 60000 : 12000;
}

void agree_with_a_model(lock_kind kind) {
  memory_host host;
  leasehold::test::random_schedules_agree_with_the_model(host, kind, steps());
}

void are_granted_soon(lock_kind kind) {
  memory_host host;
  leasehold::test::waiting_clients_are_granted_soon(host, kind, steps() / 6);
}

}  // namespace

BOOST_AUTO_TEST_CASE(random_schedules_of_mutexes_agree_with_a_model) { agree_with_a_model(lock_kind::mutex); }
BOOST_AUTO_TEST_CASE(random_schedules_of_recursive_mutexes_agree_with_a_model) {
  agree_with_a_model(lock_kind::recursive_mutex);
}
BOOST_AUTO_TEST_CASE(random_schedules_of_shared_mutexes_agree_with_a_model) {
  agree_with_a_model(lock_kind::shared_mutex);
}
BOOST_AUTO_TEST_CASE(random_schedules_of_counting_semaphores_agree_with_a_model) {
  agree_with_a_model(lock_kind::counting_semaphore);
}

BOOST_AUTO_TEST_CASE(clients_of_mutexes_that_poll_when_they_should_are_granted_soon) {
  are_granted_soon(lock_kind::mutex);
}
BOOST_AUTO_TEST_CASE(clients_of_recursive_mutexes_that_poll_when_they_should_are_granted_soon) {
  are_granted_soon(lock_kind::recursive_mutex);
}
BOOST_AUTO_TEST_CASE(clients_of_shared_mutexes_that_poll_when_they_should_are_granted_soon) {
  are_granted_soon(lock_kind::shared_mutex);
}
BOOST_AUTO_TEST_CASE(clients_of_counting_semaphores_that_poll_when_they_should_are_granted_soon) {
  are_granted_soon(lock_kind::counting_semaphore);
}

BOOST_AUTO_TEST_SUITE_END()
