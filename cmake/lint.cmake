# Target `lint`: clang-format and clang-tidy over the C code, Verilator's -Wall over the RTL (rtl/CMakeLists.txt adds to it).
# A file is looked at again only when it changed.
find_program(CLANG_FORMAT NAMES clang-format)
find_program(CLANG_TIDY NAMES clang-tidy)
add_custom_target(lint)

file(GLOB_RECURSE LINT_FILES RELATIVE ${CMAKE_SOURCE_DIR} CONFIGURE_DEPENDS
     frontend/*.[ch] mapper/*.[ch] sim/*.[ch] sim/*.cc sim/*.hh runtime/*.[ch] tests/*.[ch] tests/*.cc)
set(LINT_STAMPS)
foreach(file ${LINT_FILES})
  set(stamp ${CMAKE_BINARY_DIR}/lint/${file}.ok)
  get_filename_component(folder ${stamp} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  set(commands)
  if(CLANG_FORMAT)
    list(APPEND commands COMMAND ${CLANG_FORMAT} --dry-run -Werror ${CMAKE_SOURCE_DIR}/${file})
  endif()
  if(CLANG_TIDY AND file MATCHES "\\.c$" AND NOT file MATCHES "^tests/")
    list(APPEND commands COMMAND ${CLANG_TIDY} --quiet -p ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR}/${file})
  endif()
  add_custom_command(OUTPUT ${stamp} ${commands} COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
                     DEPENDS ${CMAKE_SOURCE_DIR}/${file} ${CMAKE_SOURCE_DIR}/.clang-format ${CMAKE_SOURCE_DIR}/.clang-tidy
                     COMMENT "lint ${file}" VERBATIM)
  list(APPEND LINT_STAMPS ${stamp})
endforeach()
add_custom_target(lint_c DEPENDS ${LINT_STAMPS})
add_dependencies(lint lint_c)
