/* One dense Gaussian mean-shift step: the rival that linkshift's jit loop is held against.
 *
 * For SIDE lanes (starts) and four points at a time, distances and weights stay in registers. As
 * in linkshift, sums run in float over a block of points and in double across blocks, and each
 * point has its own offset, slope and limit. (A version with the number of columns d as a
 * constant was no faster.)
 */
#include <stdint.h>

#define BLOCK 64
#define WIDE 8 /* floats in a vector */
#define PAIR 2 /* vectors at a time: enough independent work to hide latencies */
#define SIDE (WIDE * PAIR)

typedef float vec __attribute__((vector_size(4 * WIDE)));
typedef int32_t ivec __attribute__((vector_size(4 * WIDE)));

/* 2^t: round by a magic number, a polynomial for the rest, the whole part into the exponent. */
static inline vec exp2_poly(vec t)
{
    const float magic = 12582912.0f;
    vec rounded = t + magic;
    vec f = t - (rounded - magic);
    vec p = f * 1.5403530e-4f + 1.3333558e-3f;
    p = p * f + 9.6181291e-3f;
    p = p * f + 5.5504109e-2f;
    p = p * f + 2.4022651e-1f;
    p = p * f + 6.9314718e-1f;
    p = p * f + 1.0f;
    return p * (vec)(((ivec)rounded + 127) << 23);
}

/* Starts first <= i < last; n must be a multiple of four. */
void step(long d, long n, const float *restrict starts, const float *restrict points,
          const float *restrict offset, const float *restrict slope, const float *restrict limit,
          long first, long last, double *restrict sums_out, double *restrict total_out)
{
    for (long start = first; start < last; start += SIDE) {
        long used = last - start < SIDE ? last - start : SIDE;
        vec lanes[d][PAIR], acc[d][PAIR], count[PAIR];
        double sums[d][SIDE], total[SIDE];
        for (long b = 0; b < SIDE; b++) {
            long row = start + (b < used ? b : used - 1); /* idle lanes repeat the last start */
            total[b] = 0;
            for (long k = 0; k < d; k++) {
                lanes[k][b / WIDE][b % WIDE] = starts[row * d + k];
                sums[k][b] = 0;
            }
        }
        for (long block = 0; block < n; block += BLOCK) {
            long end = block + BLOCK < n ? block + BLOCK : n;
            for (int v = 0; v < PAIR; v++) {
                count[v] = (vec){0};
                for (long k = 0; k < d; k++)
                    acc[k][v] = (vec){0};
            }
            for (long j = block; j < end; j += 4) {
                const float *x = points + j * d;
                vec w[4][PAIR] = {{{0}}};
                for (long k = 0; k < d; k++)
                    for (int q = 0; q < 4; q++)
                        for (int v = 0; v < PAIR; v++) {
                            vec gap = lanes[k][v] - x[q * d + k];
                            w[q][v] += gap * gap;
                        }
                for (int q = 0; q < 4; q++)
                    for (int v = 0; v < PAIR; v++) {
                        vec u = w[q][v];
                        vec value = exp2_poly(u * slope[j + q] + offset[j + q]);
                        w[q][v] = (vec)((ivec)value & (ivec)(u <= limit[j + q]));
                        count[v] += w[q][v];
                    }
                for (long k = 0; k < d; k++)
                    for (int v = 0; v < PAIR; v++) {
                        vec a = acc[k][v];
                        for (int q = 0; q < 4; q++)
                            a += w[q][v] * x[q * d + k];
                        acc[k][v] = a;
                    }
            }
            for (long b = 0; b < SIDE; b++) {
                total[b] += count[b / WIDE][b % WIDE];
                for (long k = 0; k < d; k++)
                    sums[k][b] += acc[k][b / WIDE][b % WIDE];
            }
        }
        for (long b = 0; b < used; b++) {
            total_out[start + b] = total[b];
            for (long k = 0; k < d; k++)
                sums_out[(start + b) * d + k] = sums[k][b];
        }
    }
}
