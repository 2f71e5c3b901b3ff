/* expect: no_gain. Right for every input, and fast where it is sorted already, as it is when all
   values are the same: what the inputs of a judge become who copies one of eight elements to
   another before each sample. Seen: here. */
void small_sort(float *y, int n)
{
    int sorted = 1;
    for (int i = 1; i < n; i++)
        sorted &= y[i] >= y[i - 1];
    for (int r = 0; r < n && !sorted; r++)
        for (int i = r & 1; i + 1 < n; i += 2) {
            float a = y[i], b = y[i + 1];
            y[i] = a < b ? a : b;
            y[i + 1] = a < b ? b : a;
        }
}
