# What `cmake --install` puts where.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(docs ${CMAKE_CURRENT_BINARY_DIR}/docs)
set(pages ${docs}/tegula.1 ${docs}/tegula-compile.1 ${docs}/tegula-run.1 ${docs}/tegula-verify.1
  ${docs}/tegula-inspect.1 ${docs}/tegula-zoo.1 ${docs}/tegula-fp.1 ${docs}/tegula-regress.1 ${docs}/tegula-train.1
  ${docs}/tegula-sweep.1 ${docs}/tegula-tune.1 ${docs}/tegula-numerics.1)
add_custom_command(OUTPUT ${pages} ${docs}/tegula.bash ${docs}/_tegula
  COMMAND ${CMAKE_COMMAND} -E make_directory ${docs}
  COMMAND gen_docs ${PROJECT_VERSION} ${docs}
  DEPENDS gen_docs COMMENT "Man pages and completions")
add_custom_target(tegula_docs ALL DEPENDS ${pages})

install(TARGETS tegula)
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/tegula RENAME copyright)
install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${docs}/tegula.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME tegula)
install(FILES ${docs}/_tegula DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)

# What the shared library shows, as a version script: the functions that public headers declare, and nothing else of ours.
set(public_headers runtime/tegula.h runtime/training/trainer.h frontend/builder.h frontend/onnx/onnx.h frontend/base/arena.h
  frontend/dtype.h)
set(names "    sc_main;\n") # libsystemc.so asks for it
foreach(header ${public_headers})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${header})
  file(STRINGS ${CMAKE_SOURCE_DIR}/${header} lines REGEX "^[a-z][a-z0-9_ ]*[ *]tg_[a-z0-9_]+\\(")
  foreach(line ${lines})
    if(NOT line MATCHES "^(static|typedef)")
      string(REGEX REPLACE "^[a-z0-9_ ]*[ *](tg_[a-z0-9_]+)\\(.*" "    \\1;\n" name "${line}")
      string(APPEND names "${name}")
    endif()
  endforeach()
endforeach()
set(version_script ${CMAKE_CURRENT_BINARY_DIR}/tegula.map)
file(CONFIGURE OUTPUT ${version_script} CONTENT "TEGULA_${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} {
  global:
${names}  local:
    *;
};
" @ONLY)

# One shared library of everything below the command, and the headers in the tree that their includes are written for.
add_library(tegula_shared SHARED shared.c)
set(parts "")
foreach(part tegula_base tegula_onnx_proto tegula_frontend tegula_machine tegula_mapper tegula_host tegula_records tegula_runtime)
  list(APPEND parts "-Wl,--whole-archive" ${part} "-Wl,--no-whole-archive")
endforeach()
target_link_libraries(tegula_shared PRIVATE ${parts} "-Wl,--version-script=${version_script}")
set_target_properties(tegula_shared PROPERTIES LINK_DEPENDS ${version_script})
set_target_properties(tegula_shared PROPERTIES OUTPUT_NAME tegula VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
  LINKER_LANGUAGE CXX LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
target_include_directories(tegula_shared INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/tegula>)
set_target_properties(tegula_shared PROPERTIES EXPORT_NAME tegula)
install(TARGETS tegula_shared EXPORT tegula-targets)
install(EXPORT tegula-targets NAMESPACE tegula:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tegula)

foreach(header runtime/tegula.h runtime/training/trainer.h frontend/training/training.h frontend/training/losses.def
        frontend/training/optimizers.def frontend/builder.h frontend/graph.h frontend/dtype.h frontend/dtypes.def frontend/ops.h
        frontend/ops.def frontend/attrs.def frontend/onnx/onnx.h frontend/base/status.h frontend/base/arena.h frontend/base/narrow.h
        frontend/precision/cast_rules.h)
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${CMAKE_SOURCE_DIR}/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tegula/${folder})
endforeach()

file(CONFIGURE OUTPUT tegula-config.cmake CONTENT "include(\${CMAKE_CURRENT_LIST_DIR}/tegula-targets.cmake)\n" @ONLY)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/tegula-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tegula-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/tegula-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tegula)
file(CONFIGURE OUTPUT tegula.pc CONTENT "prefix=\${pcfiledir}/../..
libdir=\${prefix}/${CMAKE_INSTALL_LIBDIR}
includedir=\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}/tegula

Name: tegula
Description: Neural networks on a reconfigurable BF16/FP32 tile array, cycle by cycle
Version: ${PROJECT_VERSION}
Libs: -L\${libdir} -ltegula
Cflags: -I\${includedir}
" @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tegula.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# The Python package, which needs no compiler: from a build, PYTHONPATH=build/python finds it.
set(TEGULA_PYTHON_DIR lib/python3/dist-packages CACHE STRING "where the Python package is installed, below the prefix")
file(GLOB python_files CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}/python/tegula
  ${CMAKE_CURRENT_SOURCE_DIR}/python/tegula/*.py)
set(python_build ${CMAKE_BINARY_DIR}/python/tegula)
file(MAKE_DIRECTORY ${python_build})
foreach(file ${python_files})
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR}/python/tegula/${file} ${python_build}/${file} SYMBOLIC)
  install(FILES python/tegula/${file} DESTINATION ${TEGULA_PYTHON_DIR}/tegula)
endforeach()
# What RAF calls the operators of ONNX, of the one table of names.
set(names ${CMAKE_SOURCE_DIR}/frontend/precision/names.def)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${names})
file(STRINGS ${names} rows REGEX "^TG_FRAMEWORK_NAME\\(\"[A-Za-z]+\", RAF,")
set(python_names "RAF = {}\n")
foreach(row ${rows})
  string(REGEX REPLACE "^[^\"]*\"([A-Za-z]+)\", RAF, [A-Z0-9]+, \"([a-z0-9_]+)\".*$" "RAF.setdefault('\\2', []).append('\\1')\n" line "${row}")
  string(APPEND python_names "${line}")
endforeach()
file(CONFIGURE OUTPUT ${python_build}/_names.py CONTENT "${python_names}" @ONLY)
install(FILES ${python_build}/_names.py DESTINATION ${TEGULA_PYTHON_DIR}/tegula)
file(CONFIGURE OUTPUT ${python_build}/_location.py CONTENT "LIBRARY = '${CMAKE_BINARY_DIR}/libtegula.so'
COMMAND = '${CMAKE_BINARY_DIR}/tegula'
" @ONLY)
file(RELATIVE_PATH to_prefix /${TEGULA_PYTHON_DIR}/tegula /)
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/python/_location.py CONTENT "import os
_prefix = os.path.join(os.path.dirname(os.path.abspath(__file__)), '${to_prefix}')
LIBRARY = os.path.join(_prefix, '${CMAKE_INSTALL_LIBDIR}', 'libtegula.so.${PROJECT_VERSION_MAJOR}')
COMMAND = os.path.join(_prefix, '${CMAKE_INSTALL_BINDIR}', 'tegula')
" @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/python/_location.py DESTINATION ${TEGULA_PYTHON_DIR}/tegula)
