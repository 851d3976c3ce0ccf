# Compiler cache, where there is one.
find_program(ORRERY_CCACHE ccache)
if(ORRERY_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${ORRERY_CCACHE})
endif()

# Warnings and sanitizers shared by every target: link with orrery_options.
add_library(orrery_options INTERFACE)
# Among sources compiled together, a variable may have the name of another source's function or constant.
set(shadow $<IF:$<BOOL:${ORRERY_UNITY}>,$<$<CXX_COMPILER_ID:GNU>:-Wshadow=local>,-Wshadow>)
set(warnings -Wall -Wextra -Wpedantic ${shadow} -Wconversion -Wno-sign-conversion
             $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>  # false alarms of g++ 12 on std::string
             $<$<BOOL:${ORRERY_WERROR}>:-Werror>)
target_compile_options(orrery_options INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${warnings}>")
target_include_directories(orrery_options INTERFACE ${PROJECT_SOURCE_DIR})
option(ORRERY_FUZZ "Instrument for libFuzzer, and build tests/fuzz as its program: needs clang" OFF)
if(ORRERY_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "ORRERY_FUZZ needs clang++ (CMAKE_CXX_COMPILER), not ${CMAKE_CXX_COMPILER_ID}")
  endif()
  target_compile_options(orrery_options INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:-fsanitize=fuzzer-no-link>")
endif()
if(ORRERY_SANITIZE)
  set(sanitizers -fsanitize=${ORRERY_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_compile_options(orrery_options INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${sanitizers}>")
  # Checks stand in the way of vectorising; clang warns of each `omp simd` that it then leaves as it is.
  target_compile_options(orrery_options INTERFACE "$<$<CXX_COMPILER_ID:Clang>:-Wno-pass-failed>")
  # A sanitizer's own dlopen has no RUNPATH: the program's older RPATH counts there too (sim/simgrid.cpp).
  target_link_options(orrery_options INTERFACE -fsanitize=${ORRERY_SANITIZE} -Wl,--disable-new-dtags)
  if(ORRERY_SANITIZE MATCHES address)
    target_compile_definitions(orrery_options INTERFACE ORRERY_SANITIZED_ADDRESSES)
  endif()
  if(ORRERY_SANITIZE STREQUAL thread)
    target_compile_definitions(orrery_options INTERFACE ORRERY_SANITIZED_THREADS)
  endif()
endif()

# One library a folder: orrery_folder(NAME [READS common] SOURCES ... USES ...).
# READS: which headers are read once (unity.cmake). Folders of `texts` read and write documents: for development and
# tests, they are compiled more often than their speed is felt.
function(orrery_folder name)
  cmake_parse_arguments(ARG "" "READS" "SOURCES;USES" ${ARGN})
  add_library(orrery_${name} STATIC ${ARG_SOURCES})
  target_link_libraries(orrery_${name} PUBLIC orrery_options ${ARG_USES})
  # For shared objects (sim/simgrid, python); nobody replaces a function of ours, so that programs lose nothing by it.
  set_target_properties(orrery_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_compile_options(orrery_${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-semantic-interposition>)
  orrery_unite(orrery_${name})
  if(NOT ARG_READS)
    set(ARG_READS common)
  endif()
  if(ARG_READS STREQUAL "texts")
    target_compile_options(orrery_${name} PRIVATE "$<$<AND:$<CONFIG:RelWithDebInfo>,$<COMPILE_LANGUAGE:CXX>>:-O1>")
  endif()
  orrery_read_once(orrery_${name} ${ARG_READS})
endfunction()

# A program of tests: orrery_test_program(NAME SOURCES ... USES ...).
function(orrery_test_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;USES" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_USES} GTest::gtest_main)
  orrery_unite(${name})
  orrery_read_once(${name} tests)
endfunction()

# One test program a folder: orrery_test(NAME LABEL SOURCES ... USES ...); each TEST becomes a ctest case.
function(orrery_test name label)
  orrery_test_program(${name} ${ARGN})
  gtest_discover_tests(${name} PROPERTIES LABELS ${label} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
                       WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
endfunction()

# The same where tests are run with many values: all values of such a test suite are one ctest case. A process that is
# started once, and works out once what values share, takes a third of the time.
function(orrery_test_of_values name label)
  orrery_test_program(${name} ${ARGN})
  gtest_discover_tests(${name} TEST_FILTER -*/* PROPERTIES LABELS ${label} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
                       WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set(ORRERY_SUITES_OF ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${name})
  set(ORRERY_SUITES_LABEL ${label})
  configure_file(${PROJECT_SOURCE_DIR}/cmake/suites.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/${name}_suites.cmake @ONLY)
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}_suites.cmake)
endfunction()
