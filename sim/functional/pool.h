/* A pool of threads that run numbered jobs of one batch at a time. */
#ifndef TEGULA_FUNCTIONAL_POOL_H
#define TEGULA_FUNCTIONAL_POOL_H

#include <stdint.h>

typedef struct tg_pool tg_pool;

/* `threads` in all, the caller's included; 0: one a core. */
tg_pool *tg_pool_create(uint32_t threads);
void tg_pool_destroy(tg_pool *pool);
uint32_t tg_pool_threads(const tg_pool *pool); /* as many as the host gave */
/* Calls job(data, i) for every i < count, each once, on any thread: the other threads begin; the caller comes to help,
 * and returns when all are done. A batch that was started must be finished before the next. */
void tg_pool_start(tg_pool *pool, uint32_t count, void (*job)(void *data, uint32_t i), void *data);
void tg_pool_finish(tg_pool *pool);

#endif
