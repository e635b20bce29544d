// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <leasehold/acquire_all.hpp>
#include <leasehold/acquire_options.hpp>
#include <leasehold/admin.hpp>
#include <leasehold/client.hpp>
#include <leasehold/counting_semaphore.hpp>
#include <leasehold/credentials.hpp>
#include <leasehold/error.hpp>
#include <leasehold/histogram.hpp>
#include <leasehold/hold.hpp>
#include <leasehold/lock.hpp>
#include <leasehold/mutex.hpp>
#include <leasehold/prometheus.hpp>
#include <leasehold/recursive_mutex.hpp>
#include <leasehold/shared_mutex.hpp>
#include <leasehold/ticket.hpp>
#include <leasehold/with_lock.hpp>
