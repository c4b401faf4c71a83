#!/bin/sh
# check_fma.sh PROGRAM: vectors that it prints are right on every engine, and one that is wrong is found on each.
check=$1
for format in fp32 tf32 bf16 fp16; do
  "$check" --random 5000 $format | "$check" $format - || exit 1
done
wrong=$(echo "3c00 3c00 3f800000 40000001" | "$check" fp16 -) && { echo "a wrong vector passes"; exit 1; }
[ "$(echo "$wrong" | grep -c '0 of 1 equal')" = 8 ] || { echo "not every engine finds it:"; echo "$wrong"; exit 1; }
echo "13c00 3c00 0 0" | "$check" fp16 - 2>/dev/null
[ $? = 2 ] || { echo "a word of 20 bits is no FP16 number"; exit 1; }
