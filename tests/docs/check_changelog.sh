#!/bin/sh
# The version of the .tgb format, the eighth byte of a program, stands at the head of CHANGELOG.md and among its entries.
# usage: check_changelog.sh TEGULA
set -eu
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
"$1" zoo gemm -q --m 2 --n 2 --k 2 -o "$folder/model.onnx"
"$1" compile -q "$folder/model.onnx" -o "$folder/program.tgb"
version=$(od -An -tu1 -j7 -N1 "$folder/program.tgb" | tr -d ' ')
grep -qx "The version of \`.tgb\` files is $version\." CHANGELOG.md || { echo "CHANGELOG.md does not begin with version $version"; exit 1; }
grep -q "\`.tgb\` files are version $version\b" CHANGELOG.md || { echo "no entry of CHANGELOG.md says what version $version changed"; exit 1; }
