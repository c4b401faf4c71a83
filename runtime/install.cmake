# What `cmake --install` puts where.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(docs ${CMAKE_CURRENT_BINARY_DIR}/docs)
set(pages ${docs}/tegula.1 ${docs}/tegula-compile.1 ${docs}/tegula-run.1 ${docs}/tegula-verify.1
  ${docs}/tegula-inspect.1 ${docs}/tegula-zoo.1 ${docs}/tegula-fp.1 ${docs}/tegula-regress.1 ${docs}/tegula-train.1
  ${docs}/tegula-sweep.1 ${docs}/tegula-tune.1)
add_custom_command(OUTPUT ${pages} ${docs}/tegula.bash ${docs}/_tegula
  COMMAND ${CMAKE_COMMAND} -E make_directory ${docs}
  COMMAND gen_docs ${PROJECT_VERSION} ${docs}
  DEPENDS gen_docs COMMENT "Man pages and completions")
add_custom_target(tegula_docs ALL DEPENDS ${pages})

install(TARGETS tegula)
install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${docs}/tegula.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME tegula)
install(FILES ${docs}/_tegula DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)

# One shared library of everything below the command, and the headers in the tree that their includes are written for.
add_library(tegula_shared SHARED shared.c)
set(parts "")
foreach(part tegula_base tegula_onnx_proto tegula_frontend tegula_machine tegula_mapper tegula_host tegula_runtime)
  list(APPEND parts "-Wl,--whole-archive" ${part} "-Wl,--no-whole-archive")
endforeach()
target_link_libraries(tegula_shared PRIVATE ${parts})
set_target_properties(tegula_shared PROPERTIES OUTPUT_NAME tegula VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
  LINKER_LANGUAGE CXX LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
target_include_directories(tegula_shared INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/tegula>)
set_target_properties(tegula_shared PROPERTIES EXPORT_NAME tegula)
install(TARGETS tegula_shared EXPORT tegula-targets)
install(EXPORT tegula-targets NAMESPACE tegula:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tegula)

foreach(header runtime/tegula.h runtime/training/trainer.h frontend/training/training.h frontend/training/losses.def
        frontend/training/optimizers.def frontend/builder.h frontend/graph.h frontend/dtype.h frontend/dtypes.def frontend/ops.h
        frontend/ops.def frontend/attrs.def frontend/onnx/onnx.h frontend/base/status.h frontend/base/arena.h frontend/precision/cast_rules.h)
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
