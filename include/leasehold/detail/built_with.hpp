// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// A program and the library share Asio's objects. If they were compiled with another Boost, or with options that change
// these objects, no handler would ever run. Such a program must not link: it refers to
// leasehold::detail::library_built_with::boost_<BOOST_VERSION><options>, and the library defines only its own.
//
// If the linker reports this symbol as undefined: compile the program with the Boost and the options of the library, or
// build leasehold again with those of the program.
#pragma once

#include <boost/asio/detail/config.hpp>
#include <boost/version.hpp>

#if defined(BOOST_ASIO_NO_TYPEID)
#define LEASEHOLD_WITHOUT_RTTI _without_rtti
#else
#define LEASEHOLD_WITHOUT_RTTI
#endif
#if defined(BOOST_ASIO_NO_EXCEPTIONS)
#define LEASEHOLD_WITHOUT_EXCEPTIONS _without_exceptions
#else
#define LEASEHOLD_WITHOUT_EXCEPTIONS
#endif
#if defined(BOOST_ASIO_HAS_THREADS)
#define LEASEHOLD_WITHOUT_THREADS
#else
#define LEASEHOLD_WITHOUT_THREADS _without_threads
#endif
#if defined(BOOST_ASIO_HAS_IO_URING_AS_DEFAULT)
#define LEASEHOLD_REACTOR _with_io_uring
#elif defined(__linux__) && !defined(BOOST_ASIO_HAS_EPOLL)
#define LEASEHOLD_REACTOR _without_epoll
#else
#define LEASEHOLD_REACTOR
#endif
#if defined(BOOST_ASIO_ENABLE_HANDLER_TRACKING)
#define LEASEHOLD_WITH_HANDLER_TRACKING _with_handler_tracking
#else
#define LEASEHOLD_WITH_HANDLER_TRACKING
#endif
// boost/asio/buffer.hpp switches it on with _GLIBCXX_DEBUG.
#if defined(BOOST_ASIO_ENABLE_BUFFER_DEBUGGING) || \
    (defined(_GLIBCXX_DEBUG) && !defined(BOOST_ASIO_DISABLE_BUFFER_DEBUGGING))
#define LEASEHOLD_WITH_BUFFER_DEBUGGING _with_buffer_debugging
#else
#define LEASEHOLD_WITH_BUFFER_DEBUGGING
#endif
#if defined(BOOST_ASIO_USE_TS_EXECUTOR_AS_DEFAULT)
#define LEASEHOLD_WITH_TS_EXECUTOR _with_ts_executor
#else
#define LEASEHOLD_WITH_TS_EXECUTOR
#endif

// The length of an array in Asio's object for each thread; 2 by default.
#if defined(BOOST_ASIO_RECYCLING_ALLOCATOR_CACHE_SIZE) && BOOST_ASIO_RECYCLING_ALLOCATOR_CACHE_SIZE != 2
#define LEASEHOLD_WITH_CACHE_SIZE _with_another_cache_size
#else
#define LEASEHOLD_WITH_CACHE_SIZE
#endif

#define LEASEHOLD_PASTE(version, a, b, c, d, e, f, g, h) boost_##version##a##b##c##d##e##f##g##h
#define LEASEHOLD_EXPAND_AND_PASTE(version, a, b, c, d, e, f, g, h) LEASEHOLD_PASTE(version, a, b, c, d, e, f, g, h)
#define LEASEHOLD_BUILT_WITH                                                                                \
  LEASEHOLD_EXPAND_AND_PASTE(BOOST_VERSION, LEASEHOLD_WITHOUT_RTTI, LEASEHOLD_WITHOUT_EXCEPTIONS,           \
                             LEASEHOLD_WITHOUT_THREADS, LEASEHOLD_REACTOR, LEASEHOLD_WITH_HANDLER_TRACKING, \
                             LEASEHOLD_WITH_BUFFER_DEBUGGING, LEASEHOLD_WITH_TS_EXECUTOR, LEASEHOLD_WITH_CACHE_SIZE)

namespace leasehold::detail {

namespace library_built_with {
extern const char LEASEHOLD_BUILT_WITH;
}  // namespace library_built_with

namespace program_built_with {
// One pointer in each program, which nothing reads. The attributes keep it through optimisation and --gc-sections. Its
// name is the same, so that the linker keeps one for each way in which parts of the program were compiled.
#if defined(__has_attribute)
#if __has_attribute(retain)
__attribute__((retain))
#endif
#if __has_attribute(used)
__attribute__((used))
#endif
#endif
inline const char* const LEASEHOLD_BUILT_WITH = &library_built_with::LEASEHOLD_BUILT_WITH;
}  // namespace program_built_with

}  // namespace leasehold::detail
