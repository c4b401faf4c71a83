#include "runtime/training/schedule.h"

#include <math.h>
#include <string.h>

static const char *const names[] = {
#define TG_SCHEDULE(id, name, formula) #name,
#include "runtime/training/schedules.def"
#undef TG_SCHEDULE
};

bool tg_schedule_parse(const char *name, tg_schedule_kind *out_kind) {
  for (int i = 0; i < TG_SCHEDULE_COUNT; i++)
    if (!strcmp(names[i], name)) {
      *out_kind = (tg_schedule_kind)i;
      return true;
    }
  return false;
}

const char *tg_schedule_name(tg_schedule_kind kind) { return names[kind]; }

double tg_schedule_lr(const tg_schedule *s, uint64_t step) {
  if (step < s->warmup) return s->lr * (double)(step + 1) / (double)s->warmup;
  uint64_t since = step - s->warmup, all = s->steps > s->warmup ? s->steps - s->warmup : 1;
  double part = since < all ? (double)since / (double)all : 1;
  switch (s->kind) {
  case TG_SCHEDULE_STEP: return s->lr * pow(s->gamma, (double)(since / (s->every ? s->every : 1)));
  case TG_SCHEDULE_COSINE: return s->final + (s->lr - s->final) * (1 + cos(acos(-1.0) * part)) / 2;
  case TG_SCHEDULE_LINEAR: return s->lr + (s->final - s->lr) * part;
  default: return s->lr;
  }
}
