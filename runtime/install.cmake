# What `cmake --install` puts where.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(docs ${CMAKE_CURRENT_BINARY_DIR}/docs)
set(pages ${docs}/tegula.1 ${docs}/tegula-compile.1 ${docs}/tegula-run.1 ${docs}/tegula-verify.1
  ${docs}/tegula-inspect.1 ${docs}/tegula-zoo.1)
add_custom_command(OUTPUT ${pages} ${docs}/tegula.bash ${docs}/_tegula
  COMMAND ${CMAKE_COMMAND} -E make_directory ${docs}
  COMMAND gen_docs ${PROJECT_VERSION} ${docs}
  DEPENDS gen_docs COMMENT "Man pages and completions")
add_custom_target(tegula_docs ALL DEPENDS ${pages})

install(TARGETS tegula)
install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${docs}/tegula.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME tegula)
install(FILES ${docs}/_tegula DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)

# Libraries, and headers in the tree that their includes are written for.
set(libraries tegula_base tegula_onnx_proto tegula_frontend tegula_machine tegula_mapper tegula_host tegula_runtime)
foreach(library tegula_functional tegula_systemc tegula_rtl)
  if(TARGET ${library})
    list(APPEND libraries ${library})
  endif()
endforeach()
