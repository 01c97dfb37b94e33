# How every target of the project is made: one library per folder, so that a folder can be built and tested alone
# and the link order is the include order of ARCHITECTURE.md.

find_program(BLOOMWALL_CCACHE ccache)
if(BLOOMWALL_CCACHE)  # with what its manual asks for where headers are precompiled
  set(CMAKE_C_COMPILER_LAUNCHER ${BLOOMWALL_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${BLOOMWALL_CCACHE})
endif()

add_library(bloomwall_options INTERFACE)
target_include_directories(bloomwall_options INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(bloomwall_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor -Wold-style-cast
  -Woverloaded-virtual -Wswitch -Wimplicit-fallthrough -fno-omit-frame-pointer)
target_compile_definitions(bloomwall_options INTERFACE BLOOMWALL_VERSION="${PROJECT_VERSION}")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  # The sizes of a filter come from formulas: they must round as on processors that do not multiply and add in one step.
  target_compile_options(bloomwall_options INTERFACE -ffp-contract=off)
endif()
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(bloomwall_options INTERFACE -Wno-subobject-linkage)  # takes a source in a batch for a header
endif()
if(BLOOMWALL_WERROR)
  target_compile_options(bloomwall_options INTERFACE -Werror)
endif()
if(BLOOMWALL_SANITIZE)
  # vptr looks at objects through a pipe, and takes every one for broken in the tests that use up all descriptors.
  target_compile_options(bloomwall_options INTERFACE -fsanitize=${BLOOMWALL_SANITIZE} -fno-sanitize=vptr
                         -fno-sanitize-recover=all)
  target_link_options(bloomwall_options INTERFACE -fsanitize=${BLOOMWALL_SANITIZE})
  target_compile_definitions(bloomwall_options INTERFACE BLOOMWALL_SANITIZED)
endif()
if(BLOOMWALL_FUZZ)  # the fuzzer learns from the branches of the code under test, not of its own target alone
  target_compile_options(bloomwall_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(BLOOMWALL_HARDEN)
  target_compile_options(bloomwall_options INTERFACE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -fstack-protector-strong
                         -fstack-clash-protection)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|i.86)$")  # jumps and returns to where the compiler meant them to go
    target_compile_options(bloomwall_options INTERFACE -fcf-protection)
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
    target_compile_options(bloomwall_options INTERFACE -mbranch-protection=standard)
  endif()
  # What has POSITION_INDEPENDENT_CODE goes into the shared library as well (or is a program, for which CMake says -fPIE by itself).
  target_compile_options(bloomwall_options INTERFACE $<$<NOT:$<BOOL:$<TARGET_PROPERTY:POSITION_INDEPENDENT_CODE>>>:-fPIE>)
  target_link_options(bloomwall_options INTERFACE $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-pie> -Wl,-z,relro,-z,now)
endif()

# Links forty test programs in a fraction of the time. What is shipped is linked by the compiler's own linker, which reads the
# intermediate code of link-time optimisation. A cross-compiler looks for linkers by names of its own.
find_program(BLOOMWALL_MOLD mold)
if(BLOOMWALL_MOLD AND NOT BLOOMWALL_LTO AND NOT CMAKE_CROSSCOMPILING)
  target_link_options(bloomwall_options INTERFACE -fuse-ld=mold)
endif()

function(bloomwall_apply_lto target)
  if(BLOOMWALL_LTO)
    set_property(TARGET ${target} PROPERTY INTERPROCEDURAL_OPTIMIZATION ON)
    # Types and functions of one name that differ between files are seen here only: the whole program is read as one.
    target_compile_options(${target} PRIVATE -Wodr -Werror=odr)
    target_link_options(${target} PRIVATE -Wodr -Werror=odr)
  endif()
endfunction()

# For folders whose objects go into the programs and into libbloomwall.so, compiled once for both. Nothing outside may replace their
# functions, so that the compiler inlines them as in a program alone.
macro(bloomwall_for_shared_library)
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
  set(CMAKE_CXX_VISIBILITY_PRESET hidden)
endmacro()

# What nearly every file includes is parsed once, which takes a third off a build from nothing. The linter turns it off: it must
# see each file by itself, and is clang.
option(BLOOMWALL_PRECOMPILE "Precompile the headers that sources share" ON)
if(BLOOMWALL_PRECOMPILE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(bloomwall_options INTERFACE "SHELL:--param ggc-min-heapsize=1048576")  # KiB: an eighth less time, for memory
endif()
set(BLOOMWALL_SHARED_HEADERS <algorithm> <array> <chrono> <filesystem> <functional> <memory> <optional> <span> <string>
    <string_view> <vector> <fmt/format.h> <tl/expected.hpp>)
set(BLOOMWALL_SHARED_TEST_HEADERS ${BLOOMWALL_SHARED_HEADERS} <map> <random> <thread> <gmock/gmock.h> <gtest/gtest.h>)

# bloomwall_precompile(NAME HEADERS [libs...]): NAME reads what the variable HEADERS lists in its compiled form, made once for
# each top folder, and in it for each level of optimisation.
function(bloomwall_precompile name headers)
  if(NOT BLOOMWALL_PRECOMPILE)
    return()
  endif()
  file(RELATIVE_PATH folder ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  string(REGEX REPLACE "/.*" "_headers" owner bloomwall_${folder}/)
  get_directory_property(options COMPILE_OPTIONS)
  string(JOIN "" owner ${owner} ${options})
  if(NOT TARGET ${owner})
    file(WRITE ${CMAKE_BINARY_DIR}/${owner}.cc "")
    add_library(${owner} OBJECT ${CMAKE_BINARY_DIR}/${owner}.cc)
    target_link_libraries(${owner} PRIVATE bloomwall_options fmt::fmt ${ARGN})
    target_include_directories(${owner} SYSTEM PRIVATE ${EXPECTED_INCLUDE_DIR})
    target_precompile_headers(${owner} PRIVATE ${${headers}})
    if(BLOOMWALL_CCACHE)
      target_compile_options(${owner} PRIVATE "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
    endif()
    bloomwall_apply_lto(${owner})
  endif()
  target_precompile_headers(${name} REUSE_FROM ${owner})
  if(BLOOMWALL_CCACHE)
    target_compile_options(${name} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>
                           "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
  endif()
endfunction()

# bloomwall_library(NAME [OWN_OPTIONS] LINK libs... SYSTEM_INCLUDE dirs...): a static library of every .cc in this folder
# except main.cc and *_main.cc. OWN_OPTIONS: it is optimised unlike the others, and can't use headers compiled with them.
function(bloomwall_library name)
  cmake_parse_arguments(ARG "OWN_OPTIONS" "" "LINK;SYSTEM_INCLUDE" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS *.cc *.c)
  list(FILTER sources EXCLUDE REGEX "_main\\.cc$|/main\\.cc$")
  if(sources)
    add_library(${name} STATIC ${sources})
    target_link_libraries(${name} PUBLIC bloomwall_options ${ARG_LINK})
    target_include_directories(${name} SYSTEM PUBLIC ${ARG_SYSTEM_INCLUDE})
    bloomwall_apply_lto(${name})
    if(NOT ARG_OWN_OPTIONS)
      bloomwall_precompile(${name} BLOOMWALL_SHARED_HEADERS)
    endif()
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE bloomwall_options ${ARG_LINK})
    target_include_directories(${name} SYSTEM INTERFACE ${ARG_SYSTEM_INCLUDE})
  endif()
endfunction()

# bloomwall_tests(NAME LINK libs...): one GoogleTest program of every .cc in this folder; its suites are ctest tests. Those of
# filter/ keep a core busy and others mostly wait: of the slots of `ctest -j` (./dev gives three for each core) they take
# three.
# The dearest begin first.
function(bloomwall_tests name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS *.cc)
  if(NOT sources)
    return()
  endif()
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} fmt::fmt GTest::gmock GTest::gtest_main)
  bloomwall_precompile(${name} BLOOMWALL_SHARED_TEST_HEADERS GTest::gmock GTest::gtest)
  target_compile_definitions(${name} PRIVATE BLOOMWALL_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
                             BLOOMWALL_BINARY_DIR="${CMAKE_BINARY_DIR}")
  file(RELATIVE_PATH folder ${CMAKE_SOURCE_DIR}/tests ${CMAKE_CURRENT_SOURCE_DIR})
  set(slots 1)
  set(cost 1)
  if(folder MATCHES "^(filter/|bench)")
    set(slots 3)
  elseif(folder STREQUAL end_to_end)
    set(cost 2)
  endif()
  set(suites ${CMAKE_CURRENT_BINARY_DIR}/${name}_suites.cmake)
  file(GENERATE OUTPUT ${suites} CONTENT
"set(program $<TARGET_FILE:${name}>)
set(emulator ${CMAKE_CROSSCOMPILING_EMULATOR})
set(folder ${folder})
set(slots ${slots})
set(cost ${cost})
include(${CMAKE_SOURCE_DIR}/cmake/TestSuites.cmake)
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${suites})
endfunction()

# Everything that must be generated before a source can be read (for the linter), and every fuzz target.
add_custom_target(generated_sources)
add_custom_target(fuzzers)
