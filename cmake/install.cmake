# `cmake --install` and `cpack -G DEB`. Programs look for data in ../share/orrery and for SimGrid's module in
# ../lib/orrery beside themselves, so that a prefix may be moved; the folders below are those that they look in.
set(installed)
foreach(program orrery orrery-worker orrery-device)
  if(TARGET ${program})
    get_target_property(type ${program} TYPE)
    if(type STREQUAL "EXECUTABLE")
      list(APPEND installed ${program})
    endif()
  endif()
endforeach()
set_target_properties(${installed} PROPERTIES INSTALL_RPATH "$ORIGIN/../lib/orrery" INSTALL_RPATH_USE_LINK_PATH ON)
install(TARGETS ${installed} RUNTIME DESTINATION bin)
if(TARGET orrery_simgrid)
  set_target_properties(orrery_simgrid PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
  install(TARGETS orrery_simgrid LIBRARY DESTINATION lib/orrery)
endif()

# The module for Python, where that Python looks: Debian's own takes modules of its packages from /usr/lib/python3, and
# in another prefix, /usr/local among them, from a folder of its version. Both are as deep, as base/data_folder expects.
if(TARGET orrery_python)
  install(CODE "
    set(ORRERY_PYTHON_FOLDER lib/python${ORRERY_PYTHON_VERSION}/dist-packages/orrery)
    if(CMAKE_INSTALL_PREFIX STREQUAL \"/usr\")
      set(ORRERY_PYTHON_FOLDER lib/python3/dist-packages/orrery)
    endif()")
  install(TARGETS orrery_python LIBRARY DESTINATION "\${ORRERY_PYTHON_FOLDER}")
  install(DIRECTORY python/orrery/ DESTINATION "\${ORRERY_PYTHON_FOLDER}"
          FILES_MATCHING PATTERN "*.py" PATTERN "*.pyi" PATTERN "py.typed" PATTERN "__pycache__" EXCLUDE)
  install(DIRECTORY python/examples DESTINATION share/orrery/python FILES_MATCHING PATTERN "*.py")
endif()

# As in the project: examples of help texts run in share/orrery.
install(DIRECTORY scenarios DESTINATION share/orrery FILES_MATCHING PATTERN "*.json" PATTERN "README.md")
install(DIRECTORY doors/examples DESTINATION share/orrery/doors)
install(FILES report/prediction.schema.json DESTINATION share/orrery/report)
install(FILES README.md README.zh.md CHANGELOG.md LICENSE NOTICE DESTINATION share/doc/orrery)
install(FILES NOTICE DESTINATION share/doc/orrery RENAME copyright)  # where Debian looks for it
install(DIRECTORY docs licenses DESTINATION share/doc/orrery)

# Manual pages and completions, from the programs themselves.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  set(generated ${CMAKE_BINARY_DIR}/generated)
  list(TRANSFORM installed PREPEND "${CMAKE_BINARY_DIR}/" OUTPUT_VARIABLE built)
  install(CODE "
    set(zsh site-functions)
    if(CMAKE_INSTALL_PREFIX STREQUAL \"/usr\")
      set(zsh vendor-completions)  # of Debian's zsh
    endif()
    file(REMOVE_RECURSE \"${generated}\")
    execute_process(COMMAND \"${Python3_EXECUTABLE}\" \"${PROJECT_SOURCE_DIR}/tools/manuals\" --into \"${generated}\"
                            --zsh \${zsh} ${built} COMMAND_ERROR_IS_FATAL ANY)")
  install(DIRECTORY ${generated}/share DESTINATION .)
else()
  message(STATUS "No manual pages and completions are installed: python3 was not found")
endif()

set(CPACK_PACKAGE_NAME orrery)
set(CPACK_PACKAGE_VENDOR "The Orrery authors")
set(CPACK_PACKAGE_CONTACT "The Orrery authors <orrery@example.invalid>" CACHE STRING "Maintainer of the package")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "simulator of large-model training on clusters")
set(CPACK_PACKAGE_DESCRIPTION "Predicts how the training of a large model will run on a cluster: the time of a step, \
where it goes, the memory of every stage, the days to a token budget. Finds the best plan, compares clusters, executes \
the same step for real and holds the two against each other.")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR DEB)
set(CPACK_DEBIAN_COMPRESSION_TYPE zstd)  # a third of the time of gzip; Debian 12 and later read it
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS openmpi-bin)  # mpirun: ranks of run and calibrate
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "openssh-client, graphviz")  # hosts of a run; drawings of topology --dot
if(TARGET orrery_python)
  string(APPEND CPACK_DEBIAN_PACKAGE_RECOMMENDS ", python3, python3-numpy")
  string(APPEND CPACK_DEBIAN_PACKAGE_SUGGESTS ", python3-pandas")
endif()
include(CPack)
