# Targets `lint` and `lint-deep`: clang-format and clang-tidy over the C code, Verilator's -Wall over the RTL (rtl/CMakeLists.txt
# adds to it). A file is looked at again only when it changed; headers are looked at through the files that include them.
#
# The static analyzer takes nine tenths of clang-tidy's time: `lint` explores 2,000 states of a function, in which it finds what
# is near, and `lint-deep` (make test-long) as many as the analyzer does by itself, 225,000.
find_program(CLANG_FORMAT NAMES clang-format)
find_program(CLANG_TIDY NAMES clang-tidy)
add_custom_target(lint)
add_custom_target(lint-deep)

set(near --extra-arg=-Xclang --extra-arg=-analyzer-config --extra-arg=-Xclang --extra-arg=max-nodes=2000)

# Adds a stamp of FILE for target DEPTH (lint, lint-deep), made by COMMANDS, to LINT_STAMPS_<DEPTH>.
function(tegula_lint_stamp depth file)
  set(stamp ${CMAKE_BINARY_DIR}/${depth}/${file}.ok)
  get_filename_component(folder ${stamp} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(OUTPUT ${stamp} ${ARGN} COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
                     DEPENDS ${CMAKE_SOURCE_DIR}/${file} ${CMAKE_SOURCE_DIR}/.clang-format ${CMAKE_SOURCE_DIR}/.clang-tidy
                     COMMENT "${depth} ${file}" VERBATIM)
  set_property(GLOBAL APPEND PROPERTY TEGULA_STAMPS_${depth} ${stamp})
endfunction()

file(GLOB_RECURSE LINT_FILES RELATIVE ${CMAKE_SOURCE_DIR} CONFIGURE_DEPENDS
     frontend/*.[ch] mapper/*.[ch] sim/*.[ch] sim/*.cc sim/*.hh runtime/*.[ch] tests/*.[ch] tests/*.cc)
foreach(file ${LINT_FILES})
  set(commands)
  if(CLANG_FORMAT)
    list(APPEND commands COMMAND ${CLANG_FORMAT} --dry-run -Werror ${CMAKE_SOURCE_DIR}/${file})
  endif()
  if(CLANG_TIDY AND file MATCHES "\\.c$" AND NOT file MATCHES "^tests/")
    set(tidy COMMAND ${CLANG_TIDY} --quiet -p ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR}/${file})
    list(APPEND commands ${tidy} ${near})
    tegula_lint_stamp(lint-deep ${file} ${tidy})
  endif()
  tegula_lint_stamp(lint ${file} ${commands})
endforeach()
foreach(depth lint lint-deep)
  get_property(stamps GLOBAL PROPERTY TEGULA_STAMPS_${depth})
  add_custom_target(${depth}_c DEPENDS ${stamps})
  add_dependencies(${depth} ${depth}_c)
endforeach()
