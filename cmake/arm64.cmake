# Toolchain of a cross-build for 64-bit ARM on another Debian: its crossbuild-essential-arm64, libraries of its architecture arm64,
# and qemu-user, which runs what is built while it is built and tested: cmake --preset dev -B build/arm64 --toolchain cmake/arm64.cmake
# SPDX-License-Identifier: Apache-2.0
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(PKG_CONFIG_EXECUTABLE aarch64-linux-gnu-pkg-config)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64)
