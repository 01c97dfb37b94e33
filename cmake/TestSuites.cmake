# ctest reads this for each GoogleTest program, with `program`, `emulator` (what runs it, if anything must), `folder` (below
# tests/), `slots` and `cost` set. Each suite becomes one test, FOLDER.SUITE, with all its instantiations: a process for each
# case would be thousands of them, most of whose time is their start. A suite of which every case was skipped is reported as
# skipped; its last words are a list of them, while those of one with a failure are the failures.
if(NOT EXISTS ${program})
  add_test(${folder}_NOT_BUILT ${program})
  return()
endif()
set(listed ${program}.suites.xml)
if(${program} IS_NEWER_THAN ${listed})
  execute_process(COMMAND ${emulator} ${program} --gtest_list_tests --gtest_output=xml:${listed} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
endif()
file(STRINGS ${listed} suites REGEX "<testsuite name=")
list(TRANSFORM suites REPLACE ".*<testsuite name=\"([^/\"]*/)?([^/\"]*)\".*" "\\2")
list(REMOVE_DUPLICATES suites)
foreach(suite IN LISTS suites)
  add_test(${folder}.${suite} ${emulator} ${program} --gtest_filter=${suite}.*:*/${suite}.*)
  set_tests_properties(${folder}.${suite} PROPERTIES TIMEOUT 900 PROCESSORS ${slots} COST ${cost}
    SKIP_REGULAR_EXPRESSION "\\[  PASSED  \\] 0 tests\\.\n(\\[  SKIPPED \\] [^\n]*\n)+$")
endforeach()
