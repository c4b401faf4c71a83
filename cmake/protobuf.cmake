# tegula_protobuf(TARGET FILE.proto): a library of the C code that protobuf-c makes of the file, whose header is NAME.pb-c.h.
find_program(PROTOC_C protoc-c REQUIRED)
function(tegula_protobuf target file)
  cmake_path(GET file STEM name)
  cmake_path(ABSOLUTE_PATH file OUTPUT_VARIABLE source)
  cmake_path(GET source PARENT_PATH folder)
  set(generated ${CMAKE_BINARY_DIR}/generated/${name}-c)
  add_custom_command(
    OUTPUT ${generated}/${name}.pb-c.c ${generated}/${name}.pb-c.h
    COMMAND ${CMAKE_COMMAND} -E make_directory ${generated}
    COMMAND ${PROTOC_C} --c_out=${generated} -I${folder} ${name}.proto
    DEPENDS ${source} VERBATIM)
  add_library(${target} STATIC ${generated}/${name}.pb-c.c ${generated}/${name}.pb-c.h)
  target_include_directories(${target} SYSTEM PUBLIC ${generated})
  target_link_libraries(${target} PUBLIC protobuf-c)
endfunction()
