# cmake -DMODULE=rtl/tile.sv -DNAME=tile_row -DOUT=tile_row.sv -P flat_module.cmake
#
# Writes the module NAME: that of the file MODULE, with ports that are vectors. Verilator (5.006) writes the ports of a hierarchical block
# into a module of its own, and structures there that it cannot read again. Each configuration names the module differently, so that the libraries of
# several can be linked into one program.
file(READ ${MODULE} text)
get_filename_component(module ${MODULE} NAME_WE)
if(NOT text MATCHES "\nmodule ${module} \\((.*)\n\\);")
  message(FATAL_ERROR "${MODULE}: no \"module ${module} (...);\"")
endif()
set(ports "${CMAKE_MATCH_1}")
string(REGEX REPLACE "//[^\n]*" "" ports "${ports}")
string(REGEX REPLACE "([a-z_]+_pkg::[a-z_0-9]+_t)[ ]*\\[([^]:]+):0\\]" "logic [((\\2)+1)*$bits(\\1)-1:0]" ports "${ports}")
string(REGEX REPLACE "logic[ ]*\\[([^]]+):0\\]\\[([^]]+):0\\]" "logic [((\\1)+1)*((\\2)+1)-1:0]" ports "${ports}")
string(REGEX REPLACE "([^(])([a-z_]+_pkg::[a-z_0-9]+_t) " "\\1logic [$bits(\\2)-1:0] " ports "${ports}")
file(WRITE ${OUT}.new "// Generated from ${module}.sv: the same with ports that are vectors.
module ${NAME} (${ports}
);
  ${module} u_${module} (.*);
endmodule
")
file(COPY_FILE ${OUT}.new ${OUT} ONLY_IF_DIFFERENT)
file(TOUCH ${OUT})
