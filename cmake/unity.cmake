# Several sources compiled as one: a build from nothing takes half the time, since most of a file's time goes into the
# headers that its neighbours read too. Which may share a file is found anew by each configuration (unity_groups.py).
option(ORRERY_UNITY "Compile sources of a target together: for whole builds, not for work on one file" OFF)
find_program(ORRERY_PYTHON python3)
if(ORRERY_UNITY AND NOT ORRERY_PYTHON)
  message(STATUS "Every source is compiled alone: python3 was not found")
endif()

# g++ looks for garbage from 1 GiB on (it takes 1.3 at most), not again and again: a tenth less time.
set(ORRERY_UNITY_MEMORY "SHELL:--param ggc-min-heapsize=1048576")

# orrery_unite(TARGET): to be called when all of its sources are known.
function(orrery_unite target)
  if(NOT ORRERY_UNITY OR NOT ORRERY_PYTHON)
    return()
  endif()
  set_property(GLOBAL APPEND PROPERTY ORRERY_UNITED ${target})
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # Meant for headers: here an unnamed namespace is in an included file because its whole source is.
  # The other one: false alarms of g++ 12 on std::string.
  target_compile_options(${target} PRIVATE
                         $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage;-Wno-stringop-overflow>
                         $<$<COMPILE_LANG_AND_ID:CXX,GNU>:${ORRERY_UNITY_MEMORY}>)
endfunction()

# Of all united targets at once, which share most of the headers that have to be looked at.
function(orrery_group_sources)
  get_property(targets GLOBAL PROPERTY ORRERY_UNITED)
  set(arguments)
  foreach(target IN LISTS targets)
    get_target_property(sources ${target} SOURCES)
    get_target_property(folder ${target} SOURCE_DIR)
    list(FILTER sources INCLUDE REGEX "\\.cpp$")
    foreach(source IN LISTS sources)
      cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${folder})
      list(APPEND arguments ${source})
      list(APPEND paths ${source})
      list(APPEND owners ${target})
    endforeach()
    list(APPEND arguments --)
  endforeach()
  if(NOT arguments)
    return()
  endif()
  execute_process(COMMAND ${ORRERY_PYTHON} ${PROJECT_SOURCE_DIR}/cmake/unity_groups.py 16 ${arguments}
                  OUTPUT_VARIABLE groups OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  foreach(path target group IN ZIP_LISTS paths owners groups)
    set_source_files_properties(${path} TARGET_DIRECTORY ${target} PROPERTIES UNITY_GROUP ${target}_${group})
  endforeach()
endfunction()

# orrery_read_once(TARGET READERS): headers that most sources read, compiled once, by the first target among READERS
# (common, texts, commands or tests) that asks; flags within one of these groups are the same, others read `nothing` so.
# A compiler cache keeps nothing that was compiled behind such a header, and is worth more.
set(ORRERY_READ_BY_common <fmt/format.h> <nlohmann/json.hpp> <algorithm> <array> <filesystem> <functional> <map>
                          <memory> <optional> <span> <string> <tuple> <utility> <variant> <vector>)
set(ORRERY_READ_BY_texts ${ORRERY_READ_BY_common})
set(ORRERY_READ_BY_commands ${ORRERY_READ_BY_common} <CLI/CLI.hpp>)
set(ORRERY_READ_BY_tests ${ORRERY_READ_BY_common} <gtest/gtest.h>)
function(orrery_read_once target readers)
  if(NOT ORRERY_UNITY OR ORRERY_CCACHE OR readers STREQUAL "nothing")
    return()
  endif()
  get_property(owner GLOBAL PROPERTY ORRERY_FIRST_OF_${readers})
  if(owner)
    target_precompile_headers(${target} REUSE_FROM ${owner})
  else()
    target_precompile_headers(${target} PRIVATE ${ORRERY_READ_BY_${readers}})
    set_property(GLOBAL PROPERTY ORRERY_FIRST_OF_${readers} ${target})
  endif()
endfunction()
