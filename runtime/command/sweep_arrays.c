/* The arrays of a sweep: --arch and --set, given more than once or with several values. */
#include "runtime/command/sweep_plan.h"
#include "sim/machine/params.h"

#include <string.h>

/* The n-th of "key=a,b,c" as "key=b"; NULL: there are fewer. */
static const char *nth_value(tg_arena *arena, const char *setting, size_t n) {
  size_t key = strcspn(setting, "=");
  if (!setting[key]) return n ? NULL : setting; /* it is refused where it is read */
  const char *at = setting + key + 1;
  for (; n; n--, at++)
    if (!*(at += strcspn(at, ","))) return NULL;
  return tg_arena_printf(arena, "%.*s=%.*s", (int)key, setting, (int)strcspn(at, ","), at);
}

/* What is empty, no number or no parameter is a slip of the pen, not a row that is refused after hours. */
static tg_status check_values(tg_context *context) {
  const tg_options *o = &context->options;
  const char *value;
  tg_status status = TG_OK;
  for (size_t s = 0; !status && s < o->counts[TG_OPT_SET]; s++)
    for (size_t n = 0; !status && (value = nth_value(&context->arena, o->values[TG_OPT_SET][s], n)); n++) {
      const char *equals = strchr(value, '=');
      if (equals && !equals[1])
        return tg_fail(&context->diag, TG_INVALID, "--set: \"%s\" has an empty value",
                       o->values[TG_OPT_SET][s]);
      status = tg_params_check_setting(value, &context->diag);
    }
  return status;
}

tg_status tg_sweep_expand(tg_context *context, tg_sweep_target *targets, size_t *out_count) {
  const tg_options *o = &context->options;
  size_t archs = o->counts[TG_OPT_ARCH], sets = o->counts[TG_OPT_SET];
  *out_count = 0;
  if (sets > TG_SWEEP_MOST_SETTINGS)
    return tg_fail(&context->diag, TG_INVALID, "--set: at most %d", TG_SWEEP_MOST_SETTINGS);
  if (check_values(context)) return TG_INVALID;
  for (size_t a = 0; a < (archs ? archs : 1); a++) {
    size_t first = *out_count;
    if (first == TG_SWEEP_MOST_ARRAYS)
      return tg_fail(&context->diag, TG_INVALID, "--arch, --set: more than %d arrays", TG_SWEEP_MOST_ARRAYS);
    targets[(*out_count)++] = (tg_sweep_target){.arch = archs ? o->values[TG_OPT_ARCH][a] : NULL};
    for (size_t s = 0; s < sets; s++) {
      size_t end = *out_count;
      for (size_t t = first; t < end; t++) {
        const tg_sweep_target plain = targets[t];
        const char *value;
        for (size_t n = 0; (value = nth_value(&context->arena, o->values[TG_OPT_SET][s], n)); n++) {
          size_t at = n ? (*out_count)++ : t;
          if (at == TG_SWEEP_MOST_ARRAYS)
            return tg_fail(&context->diag, TG_INVALID, "--arch, --set: more than %d arrays",
                           TG_SWEEP_MOST_ARRAYS);
          targets[at] = plain;
          targets[at].settings[targets[at].setting_count++] = value;
        }
      }
    }
  }
  for (size_t t = 0; t < *out_count; t++) {
    targets[t].name =
        tg_sweep_array_name(&context->arena, targets[t].arch, targets[t].settings, targets[t].setting_count);
    for (size_t k = 0; k < t; k++)
      if (!strcmp(targets[k].name, targets[t].name))
        return tg_fail(&context->diag, TG_INVALID, "--arch, --set: the array %s is given twice",
                       targets[t].name);
  }
  return TG_OK;
}

void tg_sweep_choose(tg_context *context, tg_sweep_target *t) {
  tg_options *o = &context->options;
  o->values[TG_OPT_SET] = t->settings;
  o->counts[TG_OPT_SET] = o->capacities[TG_OPT_SET] = t->setting_count;
  if (!t->arch) return;
  o->values[TG_OPT_ARCH] = &t->arch;
  o->counts[TG_OPT_ARCH] = o->capacities[TG_OPT_ARCH] = 1;
}
