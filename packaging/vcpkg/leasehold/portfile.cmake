# A port of vcpkg for leasehold. Not tried: vcpkg's registry was not at hand. Set SOURCE_PATH's origin before use: the
# repository's URL, a tag, and the archive's hash.
vcpkg_from_git(
    OUT_SOURCE_PATH SOURCE_PATH
    URL "${LEASEHOLD_REPOSITORY}"
    REF "v${VERSION}"
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
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
