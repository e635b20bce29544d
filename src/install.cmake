# Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
# SPDX-License-Identifier: BSL-1.0
#
# What is installed, in two components: "command", and "library" (headers, CMake package and pkg-config file included).
# `cmake --install BUILD --component command` installs one of them, without a component both.
include(CMakePackageConfigHelpers)
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/leasehold")

foreach(component IN ITEMS command library)
  install(
    FILES "${PROJECT_SOURCE_DIR}/LICENSE"
    DESTINATION "${CMAKE_INSTALL_DOCDIR}"
    COMPONENT ${component})
endforeach()

if(TARGET leasehold-cli)
  install(TARGETS leasehold-cli RUNTIME COMPONENT command)
  install(
    FILES cli/completion/leasehold.bash
    DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions"
    RENAME leasehold
    COMPONENT command)
  install(
    FILES cli/completion/_leasehold
    DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions"
    COMPONENT command)
  install(
    FILES "${PROJECT_SOURCE_DIR}/docs/leasehold.1"
    DESTINATION "${CMAKE_INSTALL_MANDIR}/man1"
    COMPONENT command)
endif()

install(
  TARGETS leasehold
  EXPORT leasehold-targets
  LIBRARY COMPONENT library
  ARCHIVE COMPONENT library
  FILE_SET HEADERS COMPONENT library)
install(
  EXPORT leasehold-targets
  NAMESPACE leasehold::
  DESTINATION "${package_dir}"
  COMPONENT library)

# A Boost that ./dev unpacked is known to no other program. It goes along, into a folder of leasehold's own, where no
# compiler looks by itself: the package configuration and the pkg-config file name it. Hard links cost neither time nor
# space and outlive ./dev clean; across file systems they become copies.
set(LEASEHOLD_BOOST_FOLDER "${CMAKE_INSTALL_LIBDIR}/leasehold/boost")
file(REAL_PATH "${leasehold_deps_boost}" unpacked_boost)
file(REAL_PATH "${Boost_DIR}" boost_package)
cmake_path(IS_PREFIX unpacked_boost "${boost_package}" boost_is_unpacked)
if(boost_is_unpacked)
  install(
    CODE "set(boost \"${unpacked_boost}\")\nset(folder \"${LEASEHOLD_BOOST_FOLDER}\")"
    COMPONENT library)
  install(
    CODE [[
      cmake_path(ABSOLUTE_PATH folder BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}")
      set(to "$ENV{DESTDIR}${folder}")
      # A linked file could still be changed by its owner.
      execute_process(COMMAND test -O "${boost}/include" RESULT_VARIABLE of_another_user)
      message(STATUS "Installing: Boost's headers in ${to}")
      file(REMOVE_RECURSE "${to}")
      file(GLOB packages RELATIVE "${boost}" "${boost}/lib/*/cmake" "${boost}/lib/cmake")
      foreach(part IN ITEMS include ${packages})
        file(MAKE_DIRECTORY "${to}/${part}")
        set(failed TRUE)
        if(NOT of_another_user)
          execute_process(COMMAND cp -rlf "${boost}/${part}/." "${to}/${part}/" RESULT_VARIABLE failed ERROR_QUIET)
        endif()
        if(failed)
          execute_process(COMMAND cp -rf "${boost}/${part}/." "${to}/${part}/" COMMAND_ERROR_IS_FATAL ANY)
        endif()
      endforeach()
    ]]
    COMPONENT library)
endif()

configure_package_config_file(
  leasehold-config.cmake.in leasehold-config.cmake
  INSTALL_DESTINATION "${package_dir}"
  PATH_VARS LEASEHOLD_BOOST_FOLDER)
write_basic_package_version_file(leasehold-config-version.cmake COMPATIBILITY SameMinorVersion)
install(
  FILES "${CMAKE_CURRENT_BINARY_DIR}/leasehold-config.cmake" "${CMAKE_CURRENT_BINARY_DIR}/leasehold-config-version.cmake"
  DESTINATION "${package_dir}"
  COMPONENT library)

# pkg-config: from the folder of the file, so that a prefix can be moved, unless a folder is given without it.
file(RELATIVE_PATH pc_prefix "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
string(REGEX REPLACE "/$" "" pc_prefix "\${pcfiledir}/${pc_prefix}")
set(pc_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
set(pc_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}" OR IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
  set(pc_prefix "${CMAKE_INSTALL_PREFIX}")
  set(pc_includedir "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
  set(pc_libdir "${CMAKE_INSTALL_FULL_LIBDIR}")
endif()
# -isystem for a Boost that is not where the compiler looks by itself.
set(pc_boost "")
if(boost_is_unpacked)
  set(pc_boost " -isystem \${libdir}/leasehold/boost/include")
elseif(Boost_INCLUDE_DIRS AND NOT Boost_INCLUDE_DIRS MATCHES "^/usr/(local/)?include$")
  set(pc_boost " -isystem ${Boost_INCLUDE_DIRS}")
endif()
# A static library leaves it to the program to link what it uses inside. A shared one needs no pkg-config files of these:
# pkg-config would demand them for Requires.private, too.
set(pc_requires "Requires: fmt openssl")
if(BUILD_SHARED_LIBS)
  set(pc_requires "Requires:")
endif()
configure_file(leasehold.pc.in leasehold.pc @ONLY)
install(
  FILES "${CMAKE_CURRENT_BINARY_DIR}/leasehold.pc"
  DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig"
  COMPONENT library)
