#!/bin/sh
# Installs the Debian packages that the build needs and that are missing. Needs root or sudo only if something is missing.
set -eu
packages="cmake ninja-build ccache clang-19 lld-19 libclang-rt-19-dev libomp-19-dev clang-format clang-tidy pkg-config verilator libsystemc-dev
  llvm-19-dev libgtest-dev libprotobuf-c-dev protobuf-c-compiler protobuf-compiler libdnnl-dev
  ocl-icd-opencl-dev libyaml-dev libjansson-dev libpopt-dev libxxhash-dev zlib1g-dev libmpfr-dev graphviz python3 python3-numpy python3-onnx
  libonnx-testdata yosys berkeley-abc spin iverilog sollya gappa"
missing=""
for package in $packages; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
echo "installing:$missing"
root=""
if [ "$(id -u)" != 0 ]; then
  root="sudo"
  command -v sudo >/dev/null || { echo "these packages are missing and this is neither root nor sudo:$missing" >&2; exit 1; }
fi
export DEBIAN_FRONTEND=noninteractive
$root apt-get update -qq
# shellcheck disable=SC2086 # a list of words
$root apt-get install -y -qq --no-install-recommends $missing >/dev/null
