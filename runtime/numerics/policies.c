/* One table of several policies: rows of one tensor lie together, in the order of the model. */
#include "runtime/numerics/numerics.h"

#include <string.h>

/* Whether two rows are of the same result: policies differ in the casts that they put in. */
static bool same_result(const json_t *left, const json_t *right) {
  static const char *const keys[] = {"node", "op", "tensor"};
  for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
    if (!json_equal(json_object_get(left, keys[k]), json_object_get(right, keys[k]))) return false;
  return true;
}

/* Puts a policy's rows, which it takes over, between those that are there: behind their like, else behind the row before. */
static void merge(json_t *all, const json_t *rows, const char *policy) {
  size_t i, next = 0;
  json_t *row;
  json_array_foreach((json_t *)(uintptr_t)rows, i, row) {
    size_t at = next, count = json_array_size(all);
    while (at < count && !same_result(json_array_get(all, at), row)) at++;
    if (at < count)
      while (at < count && same_result(json_array_get(all, at), row)) at++;
    else
      at = next;
    json_object_set_new(row, "policy", json_string(policy));
    json_array_insert(all, at, row);
    next = at + 1;
  }
}

json_t *tg_numerics_table(void) { return json_pack("{s:[], s:[]}", "policies", "results"); }

void tg_numerics_add(json_t *table, const char *policy, json_t *object) {
  static const char *const shared[] = {"tegula", "model", "bound"};
  json_t *one = json_object();
  for (size_t k = 0; k < sizeof shared / sizeof *shared; k++)
    json_object_set(table, shared[k], json_object_get(object, shared[k]));
  json_object_set_new(one, "policy", json_string(policy));
  json_object_set(one, "precision", json_object_get(object, "precision"));
  json_object_set(one, "first_broken", json_object_get(object, "first_broken"));
  json_array_append_new(json_object_get(table, "policies"), one);
  merge(json_object_get(table, "results"), json_object_get(object, "results"), policy);
  json_decref(object);
}
