/* What a kernel includes in place of immintrin.h to be run on a machine without AVX-512: SIMDe, and
 * what its version 0.7 lacks. Slow; not optimised, as the compiler takes ten seconds otherwise. */
#pragma GCC optimize("O1")
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>
#include <simde/x86/fma.h>

static inline __m512 emulated_load(__mmask16 m, const float *p)
{
	float v[16] = { 0 };
	for (int i = 0; i < 16; i++)
		if (m >> i & 1)
			v[i] = p[i];
	return _mm512_loadu_ps(v);
}

static inline void emulated_store(float *p, __mmask16 m, __m512 a)
{
	float v[16];
	_mm512_storeu_ps(v, a);
	for (int i = 0; i < 16; i++)
		if (m >> i & 1)
			p[i] = v[i];
}

static inline float emulated_reduce(__m512 a, int greatest)
{
	float v[16];
	_mm512_storeu_ps(v, a);
	for (int n = 8; n; n /= 2)
		for (int i = 0; i < n; i++)
			v[i] = !greatest ? v[i] + v[i + n] : v[i] > v[i + n] ? v[i] : v[i + n];
	return v[0];
}

#undef _mm512_maskz_loadu_ps
#undef _mm512_mask_storeu_ps
#undef _mm512_reduce_add_ps
#undef _mm512_reduce_max_ps
#define _mm512_maskz_loadu_ps(m, p)    emulated_load(m, p)
#define _mm512_mask_storeu_ps(p, m, a) emulated_store(p, m, a)
#define _mm512_reduce_add_ps(a)        emulated_reduce(a, 0)
#define _mm512_reduce_max_ps(a)        emulated_reduce(a, 1)
