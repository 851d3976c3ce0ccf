# PROGRAM predicts SCENARIO, and needs none of SimGrid's libraries for it.
execute_process(COMMAND ${READELF} -d ${PROGRAM} OUTPUT_VARIABLE needed COMMAND_ERROR_IS_FATAL ANY)
if(NOT needed MATCHES "NEEDED" OR needed MATCHES "simgrid")
  message(FATAL_ERROR "${PROGRAM} needs SimGrid:\n${needed}")
endif()
execute_process(COMMAND ${CMAKE_COMMAND} -E env LD_DEBUG=libs ${PROGRAM} ${SCENARIO}
  OUTPUT_VARIABLE seconds ERROR_VARIABLE loaded COMMAND_ERROR_IS_FATAL ANY)
if(NOT seconds MATCHES "^[0-9]+\\.[0-9]+\n$" OR loaded MATCHES "simgrid" OR NOT loaded MATCHES "libc\\.so")
  message(FATAL_ERROR "${PROGRAM} says ${seconds} and loads:\n${loaded}")
endif()
