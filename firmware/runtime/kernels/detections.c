/* TFLite_Detection_PostProcess: boxes from what a network says of anchors, and those that overlap no better one. */
#include "neuralart_kernels.h"
#include "numbers.h"

typedef struct {
  float top, left, bottom, right;
} corners_t;

typedef struct {
  const uint8_t *encodings, *scores, *anchors;
  const na_detections_t *p;
} source_t;

/* exp(x) to the last bits of float64: 2^k times a Taylor polynomial; log(2) in two parts. */
static double exponential(double x) {
  if (!(x > -700.0)) return x < 0.0 ? 0.0 : x; /* what is not a number stays so */
  if (x > 700.0) x = 700.0; /* infinite in float32 */
  const double k = na_floor(x * 0x1.71547652b82fep0 + 0.5);
  const double r = (x - k * 0x1.62e42feep-1) - k * 0x1.a39ef35793c76p-33;
  double sum = 1.0;
  for (int32_t n = 14; n > 0; n--) sum = 1.0 + sum * r / (double)n;
  return sum * na_power_of_two((int32_t)k);
}

static float real(const uint8_t *data, int32_t at, float factor, int32_t zero) {
  if (factor == 0.0f) return ((const float *)(const void *)data)[at];
  return (float)((int8_t)data[at] - zero) * factor;
}

static float score(const source_t *s, int32_t box, int32_t class) {
  const na_detections_t *p = s->p;
  return real(s->scores, box * (p->classes + p->background) + p->background + class, p->score_factor, p->score_zero);
}

/* In float64 up to the center and half of the size, as LiteRT has it. */
static corners_t decoded(const source_t *s, int32_t box) {
  const na_detections_t *p = s->p;
  double encoding[4], anchor[4];
  for (int32_t i = 0; i < 4; i++) {
    encoding[i] = (double)real(s->encodings, box * p->columns + i, p->encoding_factor, p->encoding_zero);
    anchor[i] = (double)real(s->anchors, 4 * box + i, p->anchor_factor, p->anchor_zero);
  }
  const float y = (float)(encoding[0] / (double)p->y_scale * anchor[2] + anchor[0]);
  const float x = (float)(encoding[1] / (double)p->x_scale * anchor[3] + anchor[1]);
  const float height = (float)(0.5 * exponential(encoding[2] / (double)p->height_scale) * anchor[2]);
  const float width = (float)(0.5 * exponential(encoding[3] / (double)p->width_scale) * anchor[3]);
  const corners_t made = {y - height, x - width, y + height, x + width};
  return made;
}

static float smaller(float a, float b) { return b < a ? b : a; }
static float larger(float a, float b) { return a < b ? b : a; }

/* Intersection over union; 0 if one of them has no area. */
static float shared(const corners_t *a, const corners_t *b) {
  const float area_a = (a->bottom - a->top) * (a->right - a->left);
  const float area_b = (b->bottom - b->top) * (b->right - b->left);
  if (area_a <= 0.0f || area_b <= 0.0f) return 0.0f;
  const float height = larger(smaller(a->bottom, b->bottom) - larger(a->top, b->top), 0.0f);
  const float width = larger(smaller(a->right, b->right) - larger(a->left, b->left), 0.0f);
  const float both = height * width;
  return both / (area_a + area_b - both);
}

/* Whether i comes before j: by its value, and if that decides by its number. */
static int before(const float *values, int32_t i, int32_t j, int32_t numbered) {
  return values[i] > values[j] || (numbered && values[i] == values[j] && i < j);
}

/* Put a number into the heap whose place `hole` is free: the hole goes to a leaf, the number comes up from there. Its
 * order decides which of several equal values come first, so it is that of the C++ library that LiteRT is made with. */
static void put(int32_t *heap, int32_t hole, int32_t length, int32_t number, const float *values, int32_t numbered) {
  const int32_t top = hole;
  for (int32_t child = 2 * hole + 1; child < length; child = 2 * hole + 1) {
    if (child + 1 < length && !before(values, heap[child + 1], heap[child], numbered)) child++;
    heap[hole] = heap[child];
    hole = child;
  }
  while (hole > top && before(values, heap[(hole - 1) / 2], number, numbered)) {
    heap[hole] = heap[(hole - 1) / 2];
    hole = (hole - 1) / 2;
  }
  heap[hole] = number;
}

/* The first `wanted` of some numbers, in order of their values from the largest down. */
static void sort(int32_t *numbers, int32_t count, int32_t wanted, const float *values, int32_t numbered) {
  for (int32_t hole = wanted / 2 - 1; hole >= 0; hole--) put(numbers, hole, wanted, numbers[hole], values, numbered);
  for (int32_t i = wanted; wanted > 0 && i < count; i++) {
    if (before(values, numbers[i], numbers[0], numbered)) {
      const int32_t number = numbers[i];
      numbers[i] = numbers[0];
      put(numbers, 0, wanted, number, values, numbered);
    }
  }
  for (int32_t end = wanted - 1; end > 0; end--) {
    const int32_t number = numbers[end];
    numbers[end] = numbers[0];
    put(numbers, 0, end, number, values, numbered);
  }
}

/* Boxes by their value, without those that overlap one before them: their numbers stand in front of `order`. */
static int32_t selected(const source_t *s, const float *values, int32_t *order, corners_t *chosen, int32_t most) {
  int32_t kept = 0, found = 0;
  for (int32_t box = 0; box < s->p->boxes; box++) {
    if (values[box] >= s->p->score) order[kept++] = box;
  }
  sort(order, kept, kept, values, 1);
  for (int32_t i = 0; i < kept && found < most; i++) {
    const corners_t next = decoded(s, order[i]);
    int32_t other = 0;
    while (other < found && !(shared(&chosen[other], &next) > s->p->overlap)) other++;
    if (other < found) continue;
    chosen[found] = next;
    order[found++] = order[i];
  }
  return found;
}

/* Each box by its best class; of those that are chosen, the best classes. */
static int32_t by_box(const source_t *s, corners_t *corners, float *classes, float *values, void *working) {
  const na_detections_t *p = s->p;
  float *best = working, *own = best + p->boxes;
  int32_t *ranks = (int32_t *)(void *)(own + p->classes), *order = ranks + p->classes;
  corners_t *chosen = (corners_t *)(void *)(order + p->boxes);
  for (int32_t box = 0; box < p->boxes; box++) {
    best[box] = score(s, box, 0);
    for (int32_t class = 1; class < p->classes; class++) best[box] = larger(best[box], score(s, box, class));
  }
  const int32_t found = selected(s, best, order, chosen, p->most);
  const int32_t named = p->per_box < p->classes ? p->per_box : p->classes;
  for (int32_t i = 0; i < found; i++) {
    for (int32_t class = 0; class < p->classes; class++) ranks[class] = class, own[class] = score(s, order[i], class);
    sort(ranks, p->classes, named, own, 0);
    for (int32_t rank = 0; rank < named; rank++) {
      const int32_t row = i * p->per_box + rank;
      corners[row] = chosen[i];
      classes[row] = (float)ranks[rank];
      values[row] = own[ranks[rank]];
    }
  }
  return found;
}

/* The boxes of each class by themselves; of all that are chosen, the best ones, and the first ones of equals. */
static int32_t by_class(const source_t *s, corners_t *corners, float *classes, float *values, void *working) {
  const na_detections_t *p = s->p;
  const int32_t each = p->boxes < p->per_class ? p->boxes : p->per_class, room = p->most + each;
  float *own = working, *pooled = own + p->boxes;
  int32_t *places = (int32_t *)(void *)(pooled + room), *order = places + room; /* a place: box * classes + class */
  corners_t *chosen = (corners_t *)(void *)(order + p->boxes);
  int32_t found = 0;
  for (int32_t class = 0; class < p->classes; class++) {
    for (int32_t box = 0; box < p->boxes; box++) own[box] = score(s, box, class);
    int32_t next = selected(s, own, order, chosen, each) - 1, last = found - 1;
    found += next + 1;
    for (int32_t i = found - 1; next >= 0; i--) {
      if (last >= 0 && own[order[next]] > pooled[last]) {
        pooled[i] = pooled[last], places[i] = places[last], last--;
      } else {
        pooled[i] = own[order[next]], places[i] = order[next] * p->classes + class, next--;
      }
    }
    if (found > p->most) found = p->most;
  }
  for (int32_t i = 0; i < found; i++) {
    corners[i] = decoded(s, places[i] / p->classes);
    classes[i] = (float)(places[i] % p->classes);
    values[i] = pooled[i];
  }
  return found;
}

void na_detections(const uint8_t *encodings, const uint8_t *scores, const uint8_t *anchors, float *corners,
                   float *classes, float *values, float *count, void *working, const na_detections_t *p) {
  const source_t source = {encodings, scores, anchors, p};
  corners_t *rows = (corners_t *)(void *)corners;
  const corners_t none = {0.0f, 0.0f, 0.0f, 0.0f};
  for (int32_t i = 0; i < p->most * p->per_box; i++) rows[i] = none, classes[i] = 0.0f, values[i] = 0.0f;
  *count = (float)(p->per_class ? by_class : by_box)(&source, rows, classes, values, working);
}
