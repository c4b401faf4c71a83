#include "sim/functional/pool.h"

#include "frontend/base/status.h"
#include "sim/functional/exec.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

struct tg_pool {
  pthread_mutex_t lock;
  pthread_cond_t work, idle;
  uint32_t thread_count; /* besides the caller */
  pthread_t *threads;
  uint64_t batch;  /* number of the current batch, under the lock */
  uint32_t active; /* threads still in it */
  bool stop;
  void (*job)(void *data, uint32_t i);
  void *data;
  uint32_t count;
  atomic_uint next;
};

static void work(tg_pool *pool) {
  for (uint32_t i; (i = atomic_fetch_add(&pool->next, 1)) < pool->count;) pool->job(pool->data, i);
}

static void *worker(void *argument) {
  tg_pool *pool = argument;
  uint64_t seen = 0;
  tg_exec_thread_init();
  pthread_mutex_lock(&pool->lock);
  for (;;) {
    while (pool->batch == seen && !pool->stop) pthread_cond_wait(&pool->work, &pool->lock);
    if (pool->stop) break;
    seen = pool->batch;
    pthread_mutex_unlock(&pool->lock);
    work(pool);
    pthread_mutex_lock(&pool->lock);
    if (--pool->active == 0) pthread_cond_signal(&pool->idle);
  }
  pthread_mutex_unlock(&pool->lock);
  return NULL;
}

tg_pool *tg_pool_create(uint32_t threads) {
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  if (threads == 0) threads = cores > 0 ? (uint32_t)cores : 1;
  if (threads > 256) threads = 256;
  tg_pool *pool = calloc(1, sizeof *pool);
  if (!pool || !(pool->threads = calloc(threads, sizeof *pool->threads))) tg_die("out of memory");
  pthread_mutex_init(&pool->lock, NULL);
  pthread_cond_init(&pool->work, NULL);
  pthread_cond_init(&pool->idle, NULL);
  /* Fewer threads than asked for give the same bits, so a host that refuses one is no error. */
  while (pool->thread_count + 1 < threads &&
         !pthread_create(&pool->threads[pool->thread_count], NULL, worker, pool))
    pool->thread_count++;
  return pool;
}

void tg_pool_destroy(tg_pool *pool) {
  if (!pool) return;
  pthread_mutex_lock(&pool->lock);
  pool->stop = true;
  pthread_cond_broadcast(&pool->work);
  pthread_mutex_unlock(&pool->lock);
  for (uint32_t i = 0; i < pool->thread_count; i++) pthread_join(pool->threads[i], NULL);
  pthread_cond_destroy(&pool->work);
  pthread_cond_destroy(&pool->idle);
  pthread_mutex_destroy(&pool->lock);
  free(pool->threads);
  free(pool);
}

uint32_t tg_pool_threads(const tg_pool *pool) { return pool->thread_count + 1; }

void tg_pool_start(tg_pool *pool, uint32_t count, void (*job)(void *data, uint32_t i), void *data) {
  pthread_mutex_lock(&pool->lock);
  pool->job = job;
  pool->data = data;
  pool->count = count;
  atomic_store(&pool->next, 0);
  pool->active = pool->thread_count;
  pool->batch++;
  pthread_cond_broadcast(&pool->work);
  pthread_mutex_unlock(&pool->lock);
}

void tg_pool_finish(tg_pool *pool) {
  work(pool);
  pthread_mutex_lock(&pool->lock);
  while (pool->active) pthread_cond_wait(&pool->idle, &pool->lock);
  pthread_mutex_unlock(&pool->lock);
}
