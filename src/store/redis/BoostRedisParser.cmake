# Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
# SPDX-License-Identifier: BSL-1.0
#
# Boost.Redis 1.91 and 1.92 trust the lengths that a server sends: an empty one ends the program, streamed strings (which
# Redis never sends) write outside an array, large ones overflow, and a line without an end is searched from its beginning
# with each piece. leasehold compiles Boost's own parser with checks added, if its text is the one that they are made for.
set(parser "${Boost_INCLUDE_DIRS}/boost/redis/resp3/impl/parser.ipp")
if(NOT EXISTS "${parser}")
  # The Boost of a parent's FetchContent, for example: its headers are spread over many folders.
  message(FATAL_ERROR "leasehold needs an installed Boost, whose package sets Boost_INCLUDE_DIRS: no ${parser}")
endif()
file(READ "${parser}" parser)
set(misfit "")
function(leasehold_add_check behind text)
  string(FIND "${parser}" "${behind}" at)
  if(at EQUAL -1)
    set(misfit " (\"${behind}\")" PARENT_SCOPE)
  endif()
  string(REPLACE "${behind}" "${text}" parser "${parser}")
  set(parser "${parser}" PARENT_SCOPE)
endfunction()
leasehold_add_check("ec = error::not_a_number;\n}" [[ec = error::not_a_number;
   else if (i > (std::size_t{1} << 31))
      ec = error::exceeds_maximum_read_buffer_size;
}]])
leasehold_add_check("if (elem.at(0) == '?') {" [[if (elem.empty() || elem.at(0) == '?') {
            ec = error::not_a_number;
            return {};
         } else if (false) {]])
leasehold_add_check("case type::streamed_string_part:\n      {" [[case type::streamed_string_part:
      {
         ec = error::invalid_data_type;
         return {};]])
leasehold_add_check("if (pos == std::string::npos)\n" [[if (pos == std::string::npos && view.size() - consumed_ > 1024 * 1024)
            ec = error::exceeds_maximum_read_buffer_size;
         if (pos == std::string::npos)
]])
if(misfit STREQUAL "")
  set(checked_parser "${CMAKE_CURRENT_BINARY_DIR}/boost_redis")
  file(CONFIGURE OUTPUT "${checked_parser}/boost/redis/resp3/impl/parser.ipp" CONTENT "${parser}" @ONLY)
  set_source_files_properties(store/redis/boost_redis.cpp PROPERTIES INCLUDE_DIRECTORIES "${checked_parser}")
else()
  message(STATUS "leasehold: this Boost.Redis has another parser, which is compiled as it is${misfit}")
endif()
