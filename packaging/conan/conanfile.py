# A recipe of Conan 2 for leasehold: `conan create packaging/conan` in a clone.
# Tried: the syntax, and that the exported sources configure with the options of generate(). Not tried: Conan itself,
# because neither Conan nor its registry was at hand. That holds for the requirements, CMakeDeps and package_info().
from pathlib import Path

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, rmdir

required_conan_version = ">=2.0"


class Leasehold(ConanFile):
    name = "leasehold"
    version = "0.2.0"
    description = "Distributed locks on Redis that a C++20 coroutine can co_await"
    license = "BSL-1.0"
    topics = ("redis", "valkey", "lock", "asio", "coroutines")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    # No option fPIC: the library is always position-independent.
    options = {"shared": [True, False], "command": [True, False]}
    default_options = {"shared": False, "command": False, "boost/*:header_only": True}

    @property
    def _source(self):
        return Path(self.recipe_folder).parent.parent

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "include/*", "src/*", "lua/*", "docs/leasehold.1"):
            copy(self, pattern, self._source, self.export_sources_folder)

    def requirements(self):
        # Programs see Boost's headers, and must have the same Boost.
        self.requires("boost/[>=1.91]", transitive_headers=True)
        self.requires("fmt/[>=9]")
        self.requires("openssl/[>=3]")
        if self.options.command:
            # Invisible, because package_info() has to name each requirement that programs see.
            self.requires("cli11/[>=2.1]", visible=False)

    def validate(self):
        check_min_cppstd(self, 20)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        toolchain.variables["LEASEHOLD_BUILD_CLI"] = bool(self.options.command)
        toolchain.variables["LEASEHOLD_BUILD_EXAMPLES"] = False
        toolchain.variables["LEASEHOLD_TESTING"] = False
        toolchain.variables["BUILD_TESTING"] = False
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, Path(self.package_folder) / "licenses")
        CMake(self).install()
        # CMakeDeps and PkgConfigDeps write their own.
        for folder in ("cmake", "pkgconfig"):
            rmdir(self, Path(self.package_folder) / "lib" / folder)

    def package_info(self):
        self.cpp_info.libs = ["leasehold"]
        self.cpp_info.requires = ["boost::headers", "fmt::fmt", "openssl::openssl"]
        if self.settings.os in ("Linux", "FreeBSD"):
            self.cpp_info.system_libs = ["pthread"]
