/* Convolutions that are made of others. */
#ifndef TEGULA_FRONTEND_DECOMPOSE_CONV_H
#define TEGULA_FRONTEND_DECOMPOSE_CONV_H

#include "frontend/decompose/decompose.h"

enum { TG_MOST_MULTIPLIED = 16 };

/* Is it a depthwise convolution of 2 .. TG_MOST_MULTIPLIED results a channel, of one or two dimensions? */
bool tg_multiplies_channels(const tg_node *node);
/* The composition of convolutions of volumes. volumes.c */
tg_composition tg_make_conv_3d;
/* A Conv of these operands (the bias may be NULL) with the attributes of `node`, which is still to be finished. */
tg_node *tg_build_conv_like(tg_build *b, const tg_node *node, tg_value *const operands[3]);

#endif
