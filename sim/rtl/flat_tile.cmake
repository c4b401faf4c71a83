# cmake -DTILE=rtl/tile.sv -DNAME=tile_row -DOUT=tile_row.sv -P flat_tile.cmake
#
# Writes the module NAME: a tile whose ports are vectors. Verilator (5.006) writes the ports of a hierarchical block
# into a module of its own, and structures there that it cannot read again. Each configuration names the module differently, so that the libraries of
# several can be linked into one program.
file(READ ${TILE} text)
if(NOT text MATCHES "\nmodule tile \\((.*)\n\\);")
  message(FATAL_ERROR "${TILE}: no \"module tile (...);\"")
endif()
set(ports "${CMAKE_MATCH_1}")
string(REGEX REPLACE "//[^\n]*" "" ports "${ports}")
string(REGEX REPLACE "([a-z_]+_pkg::[a-z_0-9]+_t)[ ]*\\[([^]:]+):0\\]" "logic [((\\2)+1)*$bits(\\1)-1:0]" ports "${ports}")
string(REGEX REPLACE "logic[ ]*\\[([^]]+):0\\]\\[([^]]+):0\\]" "logic [((\\1)+1)*((\\2)+1)-1:0]" ports "${ports}")
string(REGEX REPLACE "([^(])([a-z_]+_pkg::[a-z_0-9]+_t) " "\\1logic [$bits(\\2)-1:0] " ports "${ports}")
file(WRITE ${OUT}.new "// Generated from tile.sv: a tile whose ports are vectors.
module ${NAME} (${ports}
);
  tile u_tile (.*);
endmodule
")
file(COPY_FILE ${OUT}.new ${OUT} ONLY_IF_DIFFERENT)
file(TOUCH ${OUT})
