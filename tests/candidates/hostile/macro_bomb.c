/* expect: build_failed. 16^7 tokens from eight lines; the compiler takes its whole time limit: slow: yes. Seen: our own. */
#define B(x) A(x) A(x) A(x) A(x) A(x) A(x) A(x) A(x) A(x) A(x) A(x) A(x) A(x) A(x) A(x) A(x)
#define C(x) B(x) B(x) B(x) B(x) B(x) B(x) B(x) B(x) B(x) B(x) B(x) B(x) B(x) B(x) B(x) B(x)
#define D(x) C(x) C(x) C(x) C(x) C(x) C(x) C(x) C(x) C(x) C(x) C(x) C(x) C(x) C(x) C(x) C(x)
#define E(x) D(x) D(x) D(x) D(x) D(x) D(x) D(x) D(x) D(x) D(x) D(x) D(x) D(x) D(x) D(x) D(x)
#define F(x) E(x) E(x) E(x) E(x) E(x) E(x) E(x) E(x) E(x) E(x) E(x) E(x) E(x) E(x) E(x) E(x)
#define G(x) F(x) F(x) F(x) F(x) F(x) F(x) F(x) F(x) F(x) F(x) F(x) F(x) F(x) F(x) F(x) F(x)
#define H(x) G(x) G(x) G(x) G(x) G(x) G(x) G(x) G(x) G(x) G(x) G(x) G(x) G(x) G(x) G(x) G(x)
#define A(x) x,
int bomb[] = { H(1) };

void axpy(const float *x, float *y, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = 2 * x[i] + 1;
}
