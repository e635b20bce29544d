# A port of vcpkg for leasehold. Before use, set the repository's URL, and the commit of the version as 40 digits.
# Nothing of this port was tried: vcpkg was not at hand. The CMake options were tried without it.
vcpkg_from_git(
    OUT_SOURCE_PATH SOURCE_PATH
    URL "${LEASEHOLD_REPOSITORY}"
    REF "${LEASEHOLD_COMMIT}"
)
vcpkg_check_features(
    OUT_FEATURE_OPTIONS FEATURE_OPTIONS
    FEATURES
        cli LEASEHOLD_BUILD_CLI
)
vcpkg_cmake_configure(
    SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS
        ${FEATURE_OPTIONS}
        -DLEASEHOLD_BUILD_EXAMPLES=OFF
        -DLEASEHOLD_TESTING=OFF
        -DBUILD_TESTING=OFF
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/leasehold)
vcpkg_fixup_pkgconfig()
if("cli" IN_LIST FEATURES)
    vcpkg_copy_tools(TOOL_NAMES leasehold AUTO_CLEAN)
endif()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
