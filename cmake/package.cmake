# `cmake --build build --target package`: a Debian package of what `cmake --install` installs, which depends on what the
# programs in it are linked against.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tegula)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "The authors of Tegula <tegula@invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "neural networks on a reconfigurable BF16/FP32 tile array, cycle by cycle")
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/package)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# The library of this package itself is where dpkg-shlibdeps looks for it.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_BINARY_DIR})
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "python3-numpy, graphviz")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "python3-torch, slurm-client")
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
include(CPack)
