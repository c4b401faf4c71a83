/* Whole models in many precisions: policies, accumulations. One policy of a kind comes first, on `tiny` all
 * others follow while the cycles of the RTL stay within a budget; the demonstration's network is among the
 * models. With TEGULA_ALL_PRECISIONS all of them run everywhere. */
#include "frontend/onnx/onnx.h"
#include "frontend/text.h"
#include "mapper/mapper.h"
#include "tests/agreement/mapped.h"
#include "tests/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const digits = "runtime/demo/digits.onnx";

#define GEMM                                                                                                 \
  "graph \"g\"\ninput %a: f32[17,13]\ninput %b: f32[13,17]\n%y = MatMul(%a, %b) @0\noutput \"y\" %y: f32\n"
#define MLP                                                                                                  \
  "graph \"g\"\ninput %x: f32[4,30]\nconst %w1: f32[30,20] = seeded(1, 0.3)\n"                               \
  "const %b1: f32[20] = seeded(2, 0.3)\nconst %w2: f32[20,10] = seeded(3, 0.3)\n"                            \
  "const %b2: f32[10] = seeded(4, 0.3)\n%h = Gemm(%x, %w1, %b1) @0\n%r = Relu(%h) @1\n"                      \
  "%o = Gemm(%r, %w2, %b2) @2\n%y = Softmax(%o) axis=-1 @3\noutput \"y\" %y: f32\n"
#define CONV                                                                                                 \
  "graph \"g\"\ninput %x: f32[1,3,6,5]\nconst %w: f32[6,3,3,3] = seeded(3, 0.2)\n"                           \
  "const %b: f32[6] = seeded(4, 1)\n"                                                                        \
  "%c = Conv(%x, %w, %b) kernel_shape=[3,3] pads=[1,1,1,1] @0\n%r = Relu(%c) @1\n"                           \
  "%y = MaxPool(%r) kernel_shape=[2,2] strides=[2,2] @2\noutput \"y\" %y: f32\n"

/* Heads of a row beside each other, a normalisation, a gelu. */
#define ATTENTION                                                                                            \
  "graph \"g\"\ninput %x: f32[2,5,12]\nconst %w: f32[12,12] = seeded(1, 0.4)\n"                              \
  "const %s: f32[12] = seeded(2, 1)\n%n = LayerNormalization(%x, %s) @0\n%p = MatMul(%n, %w) @1\n"           \
  "%r = Reshape(%p) shape=[2,5,3,4] @2\n%q = Transpose(%r) perm=[0,2,1,3] @3\n"                              \
  "%k = Transpose(%r) perm=[0,2,3,1] @4\n%a = MatMul(%q, %k) @5\n%b = Softmax(%a) axis=-1 @6\n"              \
  "%c = MatMul(%b, %q) @7\n%y = Gelu(%c) @8\noutput \"y\" %y: f32\n"

/* What lies between the products stays on the chip, in several blocks of rows for a tile; a mask. */
#define ATTENTION_ON_CHIP                                                                                    \
  "graph \"g\"\ninput %q: f32[5,3,21,7]\ninput %k: f32[5,3,35,7]\ninput %v: f32[5,3,35,9]\n"                 \
  "input %m: f32[5,1,1,35]\nconst %s: f32[] = [0.375]\n%t = Transpose(%k) perm=[0,1,3,2]\n"                  \
  "%a = MatMul(%q, %t) @0\n%b = Mul(%a, %s) @1\n%c = Add(%b, %m) @2\n%p = Softmax(%c) axis=-1 @3\n"          \
  "%o = MatMul(%p, %v) @4\n%y = Transpose(%o) perm=[0,2,1,3]\noutput \"y\" %y: f32\n"

#define PARTIALS(rounding)                                                                                   \
  "graph \"g\"\ninput %p: f32[5,3,13]\n%y = ReducePartials(%p)" rounding " @0\noutput \"y\" %y: f32\n"

/* Weight gradients as sums of partial products: one part a row of tiles; several, of one K chunk and of many;
 * parts that are empty. */
#define SUMS(rounding)                                                                                       \
  "graph \"g\"\ninput %x: f32[45,17]\ninput %dy: f32[45,21]\ninput %w: f32[17,21]\n"                         \
  "const %rate: f32[] = [0.25]\n%xt = Transpose(%x) perm=[1,0] @0\n"                                         \
  "%two = MatMul(%xt, %dy) partials=2" rounding " @1\n%s = Mul(%two, %rate) @2\n%u = Sub(%w, %s) @3\n"       \
  "%five = MatMul(%xt, %dy) partials=5" rounding " @4\n%t = Add(%five, %w) @5\n"                             \
  "%many = MatMul(%xt, %dy) partials=100" rounding " @6\noutput \"u\" %u: f32\noutput \"t\" %t: f32\n"       \
  "output \"many\" %many: f32\n"
#define LONG_SUMS(rounding)                                                                                  \
  "graph \"g\"\ninput %a: f32[3,701]\ninput %b: f32[701,5]\n%y = MatMul(%a, %b) partials=4" rounding         \
  " @0\n%z = MatMul(%a, %b) partials=3" rounding " @1\noutput \"y\" %y: f32\noutput \"z\" %z: f32\n"

/* Stores that round stochastically: behind a product, a softmax and an elementwise kernel of four
 * dimensions. */
#define CASTS                                                                                                \
  "graph \"g\"\ninput %a: f32[17,13]\ninput %b: f32[13,17]\ninput %x: f32[3,5,2,7]\ninput %y: f32[5,1,7]\n"  \
  "%p = MatMul(%a, %b) @0\n%q = Cast(%p) to=bf16 stochastic=1 @1\n%s = Softmax(%a) axis=-1 @2\n"             \
  "%t = Cast(%s) to=bf16 stochastic=1 @3\n%d = Sub(%x, %y) @4\n%u = Cast(%d) to=bf16 stochastic=1 @5\n"      \
  "output \"q\" %q: bf16\noutput \"t\" %t: bf16\noutput \"u\" %u: bf16\n"                                    \
  "output \"d\" %d: f32\n"

/* A tensor that is reduced and stored, by pieces, beside the sums; blocks of which the last is shorter. */
#define BESIDE                                                                                               \
  "graph \"g\"\ninput %x: f32[57,21]\ninput %v: f32[57,1]\ninput %r: f32[21]\ninput %w: f32[21,6]\n"         \
  "%a = Sub(%x, %v) @0\n%b = Mul(%a, %r) @1\n%s = ReduceSum(%b) axes=[0] @2\n%y = MatMul(%b, %w) @3\n"       \
  "output \"s\" %s: f32\noutput \"y\" %y: f32\n"

/* Moments of a batch: blocks that are merged, a shorter last one, a node in front. */
#define MOMENTS                                                                                              \
  "graph \"g\"\ninput %x: bf16[139,21]\ninput %r: f32[21]\n%c: f32[139,21] = Cast(%x) to=f32 @0\n"           \
  "%a = Mul(%c, %r) @1\n%s = ReduceMoment(%a) axes=[0] order=1 @2\n"                                         \
  "%q = ReduceMoment(%a) axes=[0] order=2 @3\noutput \"s\" %s: f32\noutput \"q\" %q: f32\n"

/* Reductions that the product computes, its blocks of rows in one piece or in several; not on a chip whose
 * AGCUs have three contexts. */
#define COLUMN_SUMS                                                                                          \
  "graph \"g\"\ninput %a: f32[256,24]\ninput %b: f32[24,13]\ninput %x: f32[256,13]\n"                        \
  "const %o: f32[] = [0]\n%d = MatMul(%a, %b) @0\n%c = Greater(%x, %o) @1\n%y = Where(%c, %d, %o) @2\n"      \
  "%k = Mul(%y, %x) @3\n%t = ReduceSum(%k) axes=[0] keepdims=0 @4\n"                                         \
  "%s = ReduceSum(%y) axes=[0] keepdims=0 @5\n"                                                              \
  "output \"s\" %s: f32\noutput \"t\" %t: f32\noutput \"y\" %y: f32\n"

/* The same of moments: blocks of twelve rows, the last one of four; one block of an even number. */
#define PRODUCT_MOMENTS                                                                                      \
  "graph \"g\"\ninput %a: f32[124,9]\ninput %b: f32[9,20]\ninput %r: f32[20]\ninput %c: f32[50,9]\n"         \
  "%d = MatMul(%a, %b) @0\n%y = Add(%d, %r) @1\n%s = ReduceMoment(%y) axes=[0] order=1 @2\n"                 \
  "%q = ReduceMoment(%y) axes=[0] order=2 @3\n%z = MatMul(%c, %b) @4\n"                                      \
  "%t = ReduceMoment(%z) axes=[0] order=2 @5\noutput \"s\" %s: f32\noutput \"q\" %q: f32\n"                  \
  "output \"y\" %y: f32\noutput \"z\" %z: f32\noutput \"t\" %t: f32\n"

/* Rows that are reduced and used again: numbers of a row, sums that wait for them, ragged rows. */
#define ROWS                                                                                                 \
  "graph \"g\"\ninput %x: f32[37,45]\ninput %y: f32[37,45]\ninput %r: f32[45]\ninput %v: f32[37,1]\n"        \
  "%a = Mul(%x, %y) @0\n%b = ReduceSum(%a) axes=[1] @1\n%c = Sub(%y, %b) @2\n%d = Mul(%c, %r) @3\n"          \
  "%e = ReduceMax(%d) axes=[1] @4\n%f = Sub(%d, %e) @5\n%g = Mul(%f, %v) @6\n%h = Abs(%x) @7\n"              \
  "%i = ReduceMin(%h) axes=[1] @8\n%j = Add(%h, %i) @9\n%k = ReduceSum(%j) axes=[1] @10\n"                   \
  "output \"g\" %g: f32\noutput \"i\" %i: f32\noutput \"k\" %k: f32\n"

/* Channels of an image side by side, transposed matrices, products whose transposed result is stored, rows
 * that numbers of 16 bits scale. */
#define MOVES                                                                                                \
  "graph \"g\"\ninput %x: f32[1,3,20,20]\ninput %m: f32[40,36]\ninput %n: bf16[2,33,40]\n"                   \
  "input %a: f32[2,9,12]\ninput %b: f32[2,9,10]\ninput %s: bf16[2,10,1]\n"                                   \
  "%xt = Transpose(%x) perm=[0,2,3,1] @0\n%mt = Transpose(%m) perm=[1,0] @1\n"                               \
  "%nt = Transpose(%n) perm=[0,2,1] @2\n%at = Transpose(%a) perm=[0,2,1] @3\n%p = MatMul(%at, %b) @4\n"      \
  "%q = Transpose(%p) perm=[2,0,1] @5\n%o = MatMul(%at, %b) @9\n%r = Transpose(%o) perm=[0,2,1] @6\n"        \
  "%w: f32[2,10,1] = Cast(%s) to=f32 @7\n%y = Mul(%r, %w) @8\noutput \"xt\" %xt: f32\n"                      \
  "output \"mt\" %mt: f32\noutput \"nt\" %nt: bf16\noutput \"q\" %q: f32\noutput \"y\" %y: f32\n"

/* A of one column, loaded as a row, also of an image's border. */
#define ONES                                                                                                 \
  "graph \"g\"\ninput %a: f32[45,1]\ninput %b: f32[1,37]\ninput %x: f32[1,1,9,11]\n"                         \
  "const %v: f32[20,1,1,1] = seeded(3, 0.2)\n%y = MatMul(%a, %b) @0\n"                                       \
  "%c = Conv(%x, %v) kernel_shape=[1,1] pads=[1,0,2,1] @1\n"                                                 \
  "output \"y\" %y: f32\noutput \"c\" %c: f32\n"

/* Convolutions of one position and their weights' gradient, of an image that is read channel by channel. */
#define PLANES                                                                                               \
  "graph \"g\"\ninput %x: f32[2,5,6,7]\ninput %dy: f32[2,9,6,7]\n"                                           \
  "const %w: f32[9,5,1,1] = seeded(3, 0.2)\n%c = Conv(%x, %w) kernel_shape=[1,1] @0\n"                       \
  "%g = ConvWeightGradient(%x, %dy) kernel_shape=[1,1] @1\n"                                                 \
  "output \"c\" %c: f32\noutput \"g\" %g: f32\n"

/* A vector that is loaded once for all blocks, whose parts are column blocks. */
#define KEPT                                                                                                 \
  "graph \"g\"\ninput %x: f32[6,90,64]\ninput %r: f32[64]\n%a = Sub(%x, %r) @0\n"                            \
  "%s = ReduceSum(%a) axes=[1] @1\noutput \"s\" %s: f32\noutput \"a\" %a: f32\n"

/* Products whose second operand stays with all its chunks, as it lies and transposed, beside column sums. */
#define WHOLE                                                                                                \
  "graph \"g\"\ninput %a: f32[300,64]\ninput %b: f32[64,32]\ninput %c: f32[32,64]\n"                         \
  "%y = MatMul(%a, %b) @0\n%s = ReduceSum(%y) axes=[0] keepdims=0 @1\n%ct = Transpose(%c) perm=[1,0] @2\n"   \
  "%z = MatMul(%a, %ct) @3\n%r = ReduceMax(%z) axes=[0] keepdims=0 @4\noutput \"y\" %y: f32\n"               \
  "output \"z\" %z: f32\noutput \"s\" %s: f32\noutput \"r\" %r: f32\n"

/* A mask of what the drain loads anyway, beside column sums whose blocks leave bit by bit. */
#define RECOMPUTED                                                                                           \
  "graph \"g\"\ninput %a: f32[200,96]\ninput %w: f32[96,16]\ninput %c: f32[200,16]\ninput %m: f32[16]\n"     \
  "input %s: f32[16]\ninput %o: f32[16]\ninput %v: f32[16,5]\nconst %zero: f32[] = [0]\n"                    \
  "%b = Mul(%c, %s) @0\n%n = Add(%b, %o) @1\n%x = Relu(%n) @2\n%p = MatMul(%x, %v) @3\n"                     \
  "%d = MatMul(%a, %w) @4\n%k = Greater(%x, %zero) @5\n%g = Where(%k, %d, %zero) @6\n"                       \
  "%e = Sub(%c, %m) @7\n%i = Mul(%g, %e) @8\n%t = ReduceSum(%g) axes=[0] keepdims=0 @9\n"                    \
  "%u = ReduceSum(%i) axes=[0] keepdims=0 @10\noutput \"p\" %p: f32\noutput \"g\" %g: f32\n"                 \
  "output \"t\" %t: f32\noutput \"u\" %u: f32\n"

/* And a sum of the same, times a number a row: nobody else reads what the relu made. */
#define RECOMPUTED_SUMS                                                                                      \
  "graph \"g\"\ninput %c: f32[256,64]\ninput %m: f32[64]\ninput %s: f32[64]\ninput %o: f32[64]\n"            \
  "input %v: f32[64,1]\ninput %w: f32[1,64]\ninput %z: f32[256,1]\nconst %zero: f32[] = [0]\n"               \
  "%b = Mul(%c, %s) @0\n%n = Add(%b, %o) @1\n%x = Relu(%n) @2\n%y = MatMul(%x, %v) @3\n"                     \
  "%a = Sub(%y, %z) @4\n%d = MatMul(%a, %w) @5\n%k = Greater(%x, %zero) @6\n%g = Where(%k, %d, %zero) @7\n"  \
  "%e = Sub(%c, %m) @8\n%i = Mul(%g, %e) @9\n%f = Mul(%x, %a) @10\n"                                         \
  "%t = ReduceSum(%g) axes=[0] keepdims=0 @11\n%u = ReduceSum(%i) axes=[0] keepdims=0 @12\n"                 \
  "%r = ReduceSum(%f) axes=[0] keepdims=0 @13\noutput \"g\" %g: f32\noutput \"t\" %t: f32\n"                 \
  "output \"u\" %u: f32\noutput \"r\" %r: f32\n"

/* Prologues of products: vectors along k, numbers, results that others read. */
#define PRODUCT_PROLOGUES                                                                                    \
  "graph \"g\"\ninput %x: f32[300,64]\ninput %scale: f32[64]\ninput %offset: f32[64]\n"                      \
  "input %w: f32[64,40]\ninput %bias: f32[40]\ninput %t: f32[400,32]\ninput %row: f32[32]\n"                 \
  "input %v: f32[32,7]\nconst %half: f32[] = [0.5]\n%m = Mul(%x, %scale) @0\n%n = Add(%m, %offset) @1\n"     \
  "%r = Relu(%n) @2\n%p = MatMul(%r, %w) @3\n%y = Add(%p, %bias) @4\n"                                       \
  "%s = ReduceMax(%r) axes=[0] keepdims=0 @5\n%a = Sub(%t, %row) @6\n%b = Mul(%a, %a) @7\n"                  \
  "%c = Mul(%b, %half) @8\n%d = MatMul(%c, %v) @9\noutput \"y\" %y: f32\noutput \"s\" %s: f32\n"             \
  "output \"d\" %d: f32\n"

/* Prologues of the gradient of weights, which rows of tiles make in turn, and what another product reads
 * of them. */
#define PROLOGUES_OF_WEIGHTS                                                                                 \
  "graph \"g\"\ninput %x: f32[768,64]\ninput %h: f32[768,96]\ninput %dy: f32[768,96]\n"                      \
  "input %mean: f32[96]\ninput %scale: f32[96]\ninput %w: f32[96,8]\n%d = Sub(%h, %mean) @0\n"               \
  "%e = Sub(%dy, %d) @1\n%g = Mul(%e, %scale) @2\n%u = MatMul(%g, %w) @3\n"                                  \
  "%z = Transpose(%x) perm=[1,0] @4\n%v = MatMul(%z, %g) @5\noutput \"u\" %u: f32\noutput \"v\" %v: f32\n"
/* The same with moments of the result, blocks of twenty rows, with what is in front stored for others. */
#define PROLOGUES_REDUCED                                                                                    \
  "graph \"g\"\ninput %x: f32[390,64]\ninput %scale: f32[64]\ninput %w: f32[64,16]\ninput %bias: f32[16]\n"  \
  "%m = Mul(%x, %scale) @0\n%r = Relu(%m) @1\n%p = MatMul(%r, %w) @2\n%y = Add(%p, %bias) @3\n"              \
  "%a = ReduceMoment(%y) axes=[0] order=1 @4\n%b = ReduceMoment(%y) axes=[0] order=2 @5\n"                   \
  "%s = ReduceMax(%r) axes=[0] keepdims=0 @6\noutput \"y\" %y: f32\noutput \"a\" %a: f32\n"                  \
  "output \"b\" %b: f32\noutput \"s\" %s: f32\n"

/* What small products make of two channels and of one is computed where it is read: drawn, since on so small
 * arrays it is seldom faster. */
#define SMALL_PRODUCTS                                                                                       \
  "graph \"g\"\ninput %img: f32[1,2,16,24]\ninput %w0: f32[32,2,1,1]\ninput %b0: f32[32]\n"                  \
  "input %scale: f32[32,1,1]\ninput %w1: f32[32,32,1,1]\ninput %v: f32[1,32,1,1]\n"                          \
  "input %target: f32[1,1,16,24]\nconst %zero: f32[] = [0]\nconst %part: f32[] = [0.001]\n"                  \
  "%c = Conv(%img, %w0, %b0) @0\n%sc = ReduceSum(%c) axes=[0,2,3] keepdims=1 @1\n"                           \
  "%mc = Mul(%sc, %part) @2\n%cm = Mul(%c, %scale) @3\n%cn = Add(%cm, %mc) @4\n%x = Relu(%cn) @5\n"          \
  "%d = Conv(%x, %w1) @6\n%sd = ReduceSum(%d) axes=[0,2,3] keepdims=1 @7\n%md = Mul(%sd, %part) @8\n"        \
  "%dm = Mul(%d, %scale) @9\n%dn = Add(%dm, %md) @10\n%z = Relu(%dn) @11\n%y = Conv(%z, %v) @12\n"           \
  "%dy = Sub(%y, %target) @13\n%dz = ConvInputGradient(%dy, %v) output_shape=[16,24] @14\n"                  \
  "%k2 = Greater(%z, %zero) @15\n%g2 = Where(%k2, %dz, %zero) @16\n%e2 = Sub(%d, %md) @17\n"                 \
  "%i2 = Mul(%g2, %e2) @18\n%s2 = ReduceSum(%g2) axes=[0,2,3] keepdims=1 @19\n"                              \
  "%t2 = ReduceSum(%i2) axes=[0,2,3] keepdims=1 @20\n%f2 = Mul(%s2, %part) @21\n"                            \
  "%h2 = Mul(%t2, %part) @22\n%p2 = Mul(%e2, %h2) @23\n%q2 = Add(%p2, %f2) @24\n"                            \
  "%r2 = Sub(%g2, %q2) @25\n%dd = Mul(%r2, %scale) @26\n"                                                    \
  "%dw1 = ConvWeightGradient(%x, %dd) kernel_shape=[1,1] @27\n"                                              \
  "%dx = ConvInputGradient(%dd, %w1) output_shape=[16,24] @28\n%k1 = Greater(%x, %zero) @29\n"               \
  "%g1 = Where(%k1, %dx, %zero) @30\n%e1 = Sub(%c, %mc) @31\n%i1 = Mul(%g1, %e1) @32\n"                      \
  "%s1 = ReduceSum(%g1) axes=[0,2,3] keepdims=1 @33\n%t1 = ReduceSum(%i1) axes=[0,2,3] keepdims=1 @34\n"     \
  "%f1 = Mul(%s1, %part) @35\n%h1 = Mul(%t1, %part) @36\n%p1 = Mul(%e1, %h1) @37\n"                          \
  "%q1 = Add(%p1, %f1) @38\n%r1 = Sub(%g1, %q1) @39\n%dc = Mul(%r1, %scale) @40\n"                           \
  "%dw0 = ConvWeightGradient(%img, %dc) kernel_shape=[1,1] @41\noutput \"dw1\" %dw1: f32\n"                  \
  "output \"dw0\" %dw0: f32\noutput \"s1\" %s1: f32\noutput \"t1\" %t1: f32\n"

/* Updates behind sums of partial products that the members of a column finish in turn. */
#define SWAPS                                                                                                \
  "graph \"g\"\ninput %x: f32[200,45]\ninput %dy: f32[200,70]\ninput %p: f32[45,70]\n"                       \
  "input %v: f32[45,70]\ninput %size: f32[1]\n%xt = Transpose(%x) perm=[1,0] @0\n"                           \
  "%g = MatMul(%xt, %dy) partials=2 @1\n%s = Mul(%g, %g) @2\n%w = Add(%v, %s) @3\n"                          \
  "%u = Mul(%w, %g) @4\n%t = Mul(%u, %size) @5\n%q = Sub(%p, %t) @6\n"                                       \
  "output \"p\" %q: f32 -> %p\noutput \"v\" %w: f32 -> %v\n"

/* Long products of few rows or columns: blocks that two tiles load together, rows of A, and columns of B. */
#define NARROW                                                                                               \
  "graph \"g\"\ninput %z: bf16[500,64]\ninput %e: bf16[500,1]\ninput %a: f32[3,500]\n"                       \
  "input %b: f32[500,30]\n%t = Transpose(%z) perm=[1,0]\n%u: f32[64,1] = MatMul(%t, %e) @0\n"                \
  "%v: f32[64,64] = MatMul(%t, %z) @1\n%w = MatMul(%a, %b) @2\n"                                             \
  "output \"u\" %u: f32\noutput \"v\" %v: f32\noutput \"w\" %w: f32\n"

/* Numbers from -1 to 1: rows from both ends, and sums of many updates each. */
#define ROWS_BY_INDEX                                                                                        \
  "graph \"g\"\ninput %t: f32[9,37]\ninput %i: i64[50]\ninput %u: f32[50,37]\ninput %x: f32[2,4,11]\n"       \
  "%a = Gather(%t, %i) @0\n%b = Gather(%x, %i) axis=1 @1\n%s = ScatterAdd(%t, %i, %u) @2\n"                  \
  "output \"a\" %a: f32\noutput \"b\" %b: f32\noutput \"s\" %s: f32\n"

/* The image of the depthwise convolution is made in the tiles that go over it, some rows at a time. */
#define INVERTED_RESIDUAL                                                                                    \
  "graph \"residual\"\ninput %i: f32[1,9,8,8]\nconst %e: f32[24,8,1,1] = seeded(1, 0.3)\n"                   \
  "const %b: f32[24] = seeded(2, 0.3)\nconst %w: f32[24,1,3,3] = seeded(3, 0.3)\n"                           \
  "%x = Transpose(%i) perm=[0,3,1,2] @1\n%p = Conv(%x, %e, %b) kernel_shape=[1,1] @2\n%r = Relu(%p) @3\n"    \
  "%d = Conv(%r, %w) kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1] group=24 @4\n"                          \
  "%y = Transpose(%d) perm=[0,2,3,1] @5\noutput \"y\" %y: f32\n"

typedef struct row {
  const char *name;
  chip chip;
  const char *text; /* NULL: the digits */
  uint64_t any_tiling;
  bool of_seconds; /* several: it is run with TEGULA_ALL_PRECISIONS only, by models_long */
} row;

static tg_status map_digits(const tg_params *params, const tg_precision_options *precision,
                            tg_program **out_program, tg_diag *diag) {
  tg_arena arena = {0};
  tg_graph *graph;
  tg_status status = tg_onnx_read(&arena, digits, &graph, diag);
  if (!status) status = map_graph(graph, params, precision, 5, 0, out_program, diag);
  tg_arena_release(&arena);
  return status;
}

typedef struct policy {
  const char *name;
  bool everywhere;
  tg_precision_options precision;
} policy;

static const policy policies[] = {
    {"mp0", true, {.preset = TG_PRESET_MP0}},
    {"mp1", true, {.preset = TG_PRESET_MP1}},
    {"mp2", false, {.preset = TG_PRESET_MP2}},
    {"mp3", false, {.preset = TG_PRESET_MP3}},
    {"mp4", true, {.preset = TG_PRESET_MP4}},
    {"default", false, {.preset = TG_PRESET_DEFAULT}},
    {"tf32", false, {.matmul = TG_MATMUL_HIGH}},
    {"hmp_o1", false, {.family = TG_FAMILY_HMP, .hmp_level = TG_HMP_O1}},
    {"hmp_o2", true, {.family = TG_FAMILY_HMP, .hmp_level = TG_HMP_O2}},
    {"raf", true, {.family = TG_FAMILY_RAF}},
    {"autocast_cuda", true, {.family = TG_FAMILY_AUTOCAST, .device = TG_AUTOCAST_CUDA}},
    {"autocast_cpu", false, {.family = TG_FAMILY_AUTOCAST, .device = TG_AUTOCAST_CPU}},
    {"autocast_fp16", true, {.family = TG_FAMILY_AUTOCAST, .device = TG_AUTOCAST_CUDA, .amp_dtype = TG_F16}},
};
enum {
  POLICIES = sizeof policies / sizeof *policies,
  ACCUMULATIONS = 2,
  PRECISIONS = POLICIES * ACCUMULATIONS
};

/* The cycles of the RTL after which a model takes no further precision, unless TEGULA_ALL_PRECISIONS is set:
 * about half a second. */
static const uint64_t budgets[CHIPS] = {[CHIP_TINY] = 12500, [CHIP_ROW] = 20000, [CHIP_ODD] = 50000};

/* The K tile is shorter than the products' K, so that rounding happens between K tiles. */
static tg_precision_options precision_of(int index) {
  tg_precision_options precision = policies[index / ACCUMULATIONS].precision;
  precision.tiling_accum = index % ACCUMULATIONS ? TG_ACCUM_BF16SR : TG_ACCUM_FP32;
  precision.k_tile = 8;
  return precision;
}

/* Programs that have run already: many precisions make the same one of a model. */
typedef struct seen {
  char *texts[PRECISIONS];
  int count;
} seen;

/* Takes the text. */
static bool is_new(seen *before, char *text) {
  for (int i = 0; i < before->count; i++)
    if (!strcmp(before->texts[i], text)) {
      free(text);
      return false;
    }
  before->texts[before->count++] = text;
  return true;
}

/* Runs the model in precision `index` unless its program ran already; the cycles of the RTL. */
static uint64_t check_precision(const row *r, const tg_params *params, int index, seen *before) {
  tg_diag diag = {""};
  tg_program *program = NULL;
  tg_precision_options precision = precision_of(index);
  tg_status status = r->text ? map_text(r->text, params, &precision, r->any_tiling, &program, &diag)
                             : map_digits(params, &precision, &program, &diag);
  const char *difference = status ? diag.message : NULL;
  uint64_t cycles = 0;
  if (!status && is_new(before, tg_program_print(program)))
    difference = engines_differ(program, (tg_run_options){.threads = 1, .seed = 5, .step = 6}, &cycles);
  if (difference)
    tg_test_fail(__FILE__, __LINE__, "%s, sums in %s: %s", policies[index / ACCUMULATIONS].name,
                 index % ACCUMULATIONS ? "bf16sr" : "fp32", difference);
  tg_program_destroy(program);
  return cycles;
}

static void check_row(const void *user) {
  const row *r = user;
  tg_diag diag = {""};
  tg_params params;
  seen before = {.count = 0};
  ASSERT(!chip_params(r->chip, &params, &diag));
  bool exhaustive = getenv("TEGULA_ALL_PRECISIONS"),
       all = (r->chip == CHIP_TINY && !r->any_tiling) || exhaustive;
  uint64_t cycles = 0;
  for (int of_a_kind = 1; of_a_kind >= !all; of_a_kind--)
    for (int p = 0; p < PRECISIONS && (exhaustive || cycles < budgets[r->chip]); p++)
      if (policies[p / ACCUMULATIONS].everywhere == of_a_kind)
        cycles += check_precision(r, &params, p, &before);
  while (before.count) free(before.texts[--before.count]);
}

__attribute__((constructor)) static void register_models(void) {
  static const row rows[] = {
      {"digits", CHIP_TINY, NULL, 0, false},
      {"gemm_17x13x17", CHIP_TINY, GEMM, 0, false},
      {"mlp", CHIP_TINY, MLP, 0, false},
      {"conv", CHIP_TINY, CONV, 0, false},
      {"gemm_17x13x17", CHIP_ROW, GEMM, 0, false},
      {"mlp", CHIP_ROW, MLP, 0, false},
      {"conv", CHIP_ROW, CONV, 0, false},
      {"rows_by_index", CHIP_TINY, ROWS_BY_INDEX, 0, false},
      {"rows_by_index", CHIP_ROW, ROWS_BY_INDEX, 0, false},
      {"rows_by_index", CHIP_ODD, ROWS_BY_INDEX, 0, false},
      {"gemm_17x13x17", CHIP_ODD, GEMM, 0, false},
      {"mlp", CHIP_ODD, MLP, 0, false},
      {"conv", CHIP_ODD, CONV, 0, false},
      {"attention", CHIP_TINY, ATTENTION, 0, false},
      {"attention", CHIP_ROW, ATTENTION, 0, false},
      {"attention", CHIP_ODD, ATTENTION, 0, false},
      {"attention_on_chip", CHIP_TINY, ATTENTION_ON_CHIP, 0, false},
      {"attention_on_chip", CHIP_ROW, ATTENTION_ON_CHIP, 0, false},
      {"attention_on_chip", CHIP_ODD, ATTENTION_ON_CHIP, .of_seconds = true},
      {"sums", CHIP_TINY, SUMS(""), 0, false},
      {"sums_rounded", CHIP_TINY, SUMS(" reduce=1"), 0, false},
      {"sums", CHIP_ROW, SUMS(""), 0, false},
      {"sums_rounded", CHIP_ROW, SUMS(" reduce=1"), 0, false},
      {"sums", CHIP_ODD, SUMS(""), 0, false},
      {"sums_rounded", CHIP_ODD, SUMS(" reduce=1"), 0, false},
      {"long_sums", CHIP_TINY, LONG_SUMS(""), 0, false},
      {"long_sums_rounded", CHIP_TINY, LONG_SUMS(" reduce=1"), 0, false},
      {"long_sums", CHIP_ROW, LONG_SUMS(""), 0, false},
      {"long_sums_rounded", CHIP_ROW, LONG_SUMS(" reduce=1"), 0, false},
      {"long_sums", CHIP_ODD, LONG_SUMS(""), 0, false},
      {"long_sums_rounded", CHIP_ODD, LONG_SUMS(" reduce=1"), 0, false},
      {"beside", CHIP_TINY, BESIDE, 0, false},
      {"beside", CHIP_ROW, BESIDE, 0, false},
      {"beside", CHIP_ODD, BESIDE, 0, false},
      {"moments", CHIP_TINY, MOMENTS, 0, false},
      {"moments", CHIP_ROW, MOMENTS, 0, false},
      {"moments", CHIP_ODD, MOMENTS, 0, false},
      {"column_sums", CHIP_TINY, COLUMN_SUMS, 0, false},
      {"column_sums", CHIP_ROW, COLUMN_SUMS, 0, false},
      {"column_sums", CHIP_ODD, COLUMN_SUMS, 0, false},
      {"product_moments", CHIP_TINY, PRODUCT_MOMENTS, 0, false},
      {"product_moments", CHIP_ROW, PRODUCT_MOMENTS, 0, false},
      {"product_moments", CHIP_ODD, PRODUCT_MOMENTS, 0, false},
      {"ones", CHIP_TINY, ONES, 0, false},
      {"ones", CHIP_ROW, ONES, 0, false},
      {"ones", CHIP_ODD, ONES, 0, false},
      {"planes", CHIP_TINY, PLANES, 0, false},
      {"planes", CHIP_ROW, PLANES, 0, false},
      {"planes", CHIP_ODD, PLANES, 0, false},
      {"kept", CHIP_TINY, KEPT, 0, false},
      {"kept", CHIP_ROW, KEPT, 0, false},
      {"kept", CHIP_ODD, KEPT, 0, false},
      {"partials", CHIP_TINY, PARTIALS(""), 0, false},
      {"partials_rounded", CHIP_TINY, PARTIALS(" stochastic=1"), 0, false},
      {"casts", CHIP_TINY, CASTS, 0, false},
      {"casts", CHIP_ROW, CASTS, 0, false},
      {"casts", CHIP_ODD, CASTS, 0, false},
      {"partials_rounded", CHIP_ODD, PARTIALS(" stochastic=1"), 0, false},
      {"rows", CHIP_TINY, ROWS, 0, false},
      {"rows", CHIP_ROW, ROWS, 0, false},
      {"rows", CHIP_ODD, ROWS, 0, false},
      {"moves", CHIP_TINY, MOVES, 0, false},
      {"moves", CHIP_ROW, MOVES, 0, false},
      {"moves", CHIP_ODD, MOVES, 0, false},
      {"whole", CHIP_TINY, WHOLE, 0, false},
      {"whole", CHIP_ODD, WHOLE, 0, false},
      {"recomputed", CHIP_TINY, RECOMPUTED, 0, false},
      {"recomputed", CHIP_ROW, RECOMPUTED, 0, false},
      {"recomputed_sums", CHIP_TINY, RECOMPUTED_SUMS, 0, false},
      {"recomputed_sums", CHIP_ODD, RECOMPUTED_SUMS, 0, false},
      {"product_prologues", CHIP_TINY, PRODUCT_PROLOGUES, 0, false},
      {"product_prologues", CHIP_ROW, PRODUCT_PROLOGUES, 0, false},
      {"product_prologues", CHIP_ODD, PRODUCT_PROLOGUES, 0, false},
      {"prologues_of_weights", CHIP_TINY, PROLOGUES_OF_WEIGHTS, 0, false},
      {"prologues_of_weights", CHIP_ROW, PROLOGUES_OF_WEIGHTS, 0, false},
      {"prologues_of_weights", CHIP_ODD, PROLOGUES_OF_WEIGHTS, .of_seconds = true},
      {"small_products", CHIP_TINY, SMALL_PRODUCTS, .any_tiling = 6},
      {"small_products_transposed", CHIP_TINY, SMALL_PRODUCTS, .any_tiling = 9, .of_seconds = true},
      {"small_products", CHIP_ODD, SMALL_PRODUCTS, .any_tiling = 6, .of_seconds = true},
      {"prologues_reduced", CHIP_TINY, PROLOGUES_REDUCED, 0, false},
      {"prologues_reduced", CHIP_ROW, PROLOGUES_REDUCED, 0, false},
      {"prologues_reduced", CHIP_ODD, PROLOGUES_REDUCED, 0, false},
      {"narrow", CHIP_TINY, NARROW, 0, false},
      {"inverted_residual", CHIP_TINY, INVERTED_RESIDUAL, 0, false},
      {"inverted_residual", CHIP_ROW, INVERTED_RESIDUAL, 0, false},
      {"inverted_residual", CHIP_ODD, INVERTED_RESIDUAL, 0, false},
      {"swaps", CHIP_TINY, SWAPS, 0, false},
      {"swaps", CHIP_ROW, SWAPS, 0, false},
      {"swaps", CHIP_ODD, SWAPS, 0, false},
  };
  enum { COUNT = sizeof rows / sizeof *rows };
  for (int i = 0; i < COUNT; i++) {
    char label[96];
    if (rows[i].of_seconds && !getenv("TEGULA_ALL_PRECISIONS")) continue;
    snprintf(label, sizeof label, "%s_%s", rows[i].name, chip_names[rows[i].chip]);
    tg_test_register_row("models", label, __FILE__, __LINE__, check_row, &rows[i]);
  }
}
